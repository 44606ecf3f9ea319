(* SPDX-License-Identifier: Apache-2.0 *)
fun fib n = if n < 2 then n else fib (n - 1) + fib (n - 2);
fun numbers n = List.tabulate (n, fn i => i * 7919 mod 10007);
fun insert (x, []) = [x] | insert (x, y :: l) = if x <= y then x :: y :: l else y :: insert (x, l);
fun sorted l = foldl insert [] l;
fun raised n = foldl (fn (i, s) => s + (if i mod 3 = 0 then raise Fail "x" else i) handle Fail _ => s + 1) 0 (numbers n);
fun strs n = size (String.concat (List.map Int.toString (numbers n)));
fun main () = (fib 25; sorted (numbers 600); raised 20000; strs 20000; main ());
main ();
