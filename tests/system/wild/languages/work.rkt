#lang racket/base
; SPDX-License-Identifier: Apache-2.0
(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))
(define (counts n) (let ((h (make-hash))) (for ((i n)) (hash-update! h (modulo i 997) add1 0)) (hash-count h)))
(define (strs n) (for/sum ((i n)) (string-length (format "~a-~a" "x" i))))
(define (escapes n) (for/sum ((i n)) (call/ec (lambda (k) (if (even? i) (k 1) 2)))))
(let lp () (fib 27) (counts 50000) (sort (for/list ((i 20000)) (modulo (* i 7919) 10007)) <) (strs 5000)
  (escapes 20000) (regexp-replace* #rx"a+" (make-string 2000 #\a) "b") (lp))
