;; SPDX-License-Identifier: Apache-2.0
(import (chicken sort))
(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))
(define (numbers i acc) (if (= i 0) acc (numbers (- i 1) (cons (modulo (* i 7919) 10007) acc))))
(define (strs n) (let l ((i 0) (c 0)) (if (= i n) c (l (+ i 1) (+ c (string-length (number->string i)))))))
(define (escapes n) (let l ((i 0) (s 0)) (if (= i n) s (l (+ i 1) (+ s (call/cc (lambda (k) (if (even? i) (k 1) 2))))))))
(let lp () (fib 24) (sort (numbers 20000 '()) <) (strs 20000) (escapes 20000) (lp))
