# SPDX-License-Identifier: Apache-2.0
import std/[algorithm, strutils, tables]

proc fib(n: int): int {.noinline.} =
  if n < 2: n else: fib(n - 1) + fib(n - 2)

proc counts(n: int): int {.noinline.} =
  var t = initTable[string, int]()
  for i in 0 ..< n: t.mgetOrPut("k" & $(i mod 997), 0) += i
  t.len

proc sorted(n: int): int {.noinline.} =
  var s = newSeq[int](n)
  for i in 0 ..< n: s[i] = i * 7919 mod 10007
  s.sort(proc (a, b: int): int = cmp(b, a))
  s[0]

proc thrown(n: int): int {.noinline.} =
  for i in 0 ..< n:
    try:
      result += parseInt(if i mod 3 == 0: "x" else: $i)
    except ValueError:
      result += 1

iterator squares(n: int): int {.closure.} =
  for i in 0 ..< n: yield i * i

var sum = 0
while true:
  sum = sum xor fib(25) xor counts(20000) xor sorted(20000) xor thrown(2000)
  for x in squares(10000): sum = sum xor x
