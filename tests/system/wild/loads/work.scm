;; SPDX-License-Identifier: Apache-2.0
(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))
(define (loop2 i acc) (if (= i 0) acc (loop2 (- i 1) (cons i acc))))
(define (strs n) (let l ((i 0) (c 0)) (if (= i n) c (l (+ i 1) (+ c (string-length (number->string i)))))))
(let lp () (fib 24) (sort (loop2 20000 '()) <) (strs 20000) (lp))
