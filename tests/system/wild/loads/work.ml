(* SPDX-License-Identifier: Apache-2.0 *)
module M = Map.Make(Int)
exception E of int
let rec fib n = if n < 2 then n else fib (n-1) + fib (n-2)
let maps n = let m = ref M.empty in for i=0 to n do m := M.add ((i*7919) mod 10007) i !m done; M.fold (fun k v a -> k+v+a) !m 0
let exn n = let s = ref 0 in for i=0 to n do (try if i land 3 = 0 then raise (E i) else s := !s + fib 5 with E k -> s := !s + k) done; !s
let strs n = let b = Buffer.create 10 in for i=0 to n do Buffer.add_string b (string_of_int i); Buffer.add_string b (Printf.sprintf "%d-%f" i (float i)) done; Buffer.length b
let srt n = List.length (List.sort compare (List.init n (fun i -> (i*7919) mod 10007)))
let h n = let t = Hashtbl.create 100 in for i=0 to n do Hashtbl.replace t (i mod 1009) (string_of_int i) done; Hashtbl.length t
let () = while true do ignore (fib 27 + maps 20000 + exn 100000 + strs 20000 + srt 30000 + h 50000) done
