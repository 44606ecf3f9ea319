// SPDX-License-Identifier: Apache-2.0

// Goroutines that recurse and pass numbers on: under gccgo, on stacks that grow in segments.
package main

import "fmt"

func work(x uint64) uint64 {
	for i := 0; i < 500; i++ {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

func down(depth int, x uint64) uint64 {
	var room [64]uint64
	room[depth%64] = work(x)
	if depth == 0 {
		return room[0]
	}
	return down(depth-1, room[depth%64]) + room[(depth+1)%64]
}

func main() {
	numbers := make(chan uint64)
	for i := 0; i < 4; i++ {
		go func(depth int) {
			for x := range numbers {
				if down(depth, x) == 1 {
					fmt.Println("one")
				}
			}
		}(20 + 10*i)
	}
	for x := uint64(0); ; x++ {
		numbers <- x
	}
}
