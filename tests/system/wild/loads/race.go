// SPDX-License-Identifier: Apache-2.0
package main

import "sync"

type cell struct{ v [64]int }

var mu sync.Mutex
var total int

//go:noinline
func leaf(c *cell, k int) int {
	s := 0
	for i := 0; i < 2000; i++ {
		c.v[(i+k)&63] += i
		s += c.v[i&63]
	}
	return s
}

//go:noinline
func inner(c *cell, k int) int { return leaf(c, k) + 1 }

//go:noinline
func outer(c *cell, k int) int { return inner(c, k) + 1 }

//go:noinline
func locks(k int) { mu.Lock(); total += k; mu.Unlock() }

//go:noinline
func worker(n int, done chan int) {
	c := &cell{}
	for {
		for i := 0; i < 100; i++ {
			locks(outer(c, n+i))
		}
	}
}

func main() {
	done := make(chan int)
	for i := 0; i < 2; i++ {
		go worker(i, done)
	}
	<-done
}
