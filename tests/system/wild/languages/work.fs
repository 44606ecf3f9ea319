\ SPDX-License-Identifier: Apache-2.0
: fib recursive dup 2 < if exit then dup 1- fib swap 2 - fib + ;
: crc 0 100000 0 do i 7919 * 10007 mod xor loop drop ;
: caught 1000 0 do ['] noop catch drop loop ;
: work begin 24 fib drop crc caught again ;
work
