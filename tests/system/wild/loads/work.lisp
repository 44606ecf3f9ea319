;; SPDX-License-Identifier: Apache-2.0
(defun fib (n) (declare (fixnum n)) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))
(defun lists (n) (let ((l nil)) (dotimes (i n) (push (mod (* i 7919) 10007) l)) (length (sort l #'<))))
(defun hashes (n) (let ((h (make-hash-table))) (dotimes (i n) (incf (gethash (mod i 997) h 0) i)) (hash-table-count h)))
(defun bigs (n) (let ((x 1)) (loop for i from 1 to n do (setf x (* x i))) (integer-length x)))
(defun floats (n) (let ((s 0d0)) (declare (double-float s)) (dotimes (i n) (incf s (sin (float i 1d0)))) s))
(defun strs (n) (let ((c 0)) (dotimes (i n) (incf c (length (format nil "~a-~d" "x" i)))) c))
(loop (fib 25) (lists 20000) (hashes 100000) (bigs 600) (floats 200000) (strs 2000))
