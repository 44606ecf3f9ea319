// SPDX-License-Identifier: Apache-2.0

// Three functions that share a thread's time 5:3:2 by the loops they make; Go's own profiler of
// it is written to the file of the second argument. Rounds have lengths by chance: a profiler that
// keeps step with them would see one function more often.
package main

import (
	"math/rand"
	"os"
	"runtime/pprof"
	"strconv"
	"time"
)

var value uint64

//go:noinline
func leafHalf(n int) {
	for i := 0; i < n; i++ {
		value = value*3 + 1
	}
}

//go:noinline
func leafThird(n int) {
	for i := 0; i < n; i++ {
		value = value*3 + 1
	}
}

//go:noinline
func leafFifth(n int) {
	for i := 0; i < n; i++ {
		value = value*3 + 1
	}
}

//go:noinline
func firstPart(n int) {
	leafHalf(5 * n)
	leafThird(3 * n)
}

//go:noinline
func secondPart(n int) {
	leafFifth(2 * n)
}

func main() {
	seconds, _ := strconv.ParseFloat(os.Args[1], 64)
	out, err := os.Create(os.Args[2])
	if err != nil {
		panic(err)
	}
	if err = pprof.StartCPUProfile(out); err != nil {
		panic(err)
	}
	for end := time.Now().Add(time.Duration(seconds * 1e9)); time.Now().Before(end); {
		n := rand.Intn(1000000)
		firstPart(n)
		secondPart(n)
	}
	pprof.StopCPUProfile()
	out.Close()
}
