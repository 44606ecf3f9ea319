// SPDX-License-Identifier: Apache-2.0

// Three functions that share a thread's time 5:3:2 by the loops they make; Go's own profiler of
// it is written to the file of the second argument.
package main

import (
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
		leafHalf(500000)
		leafThird(300000)
		leafFifth(200000)
	}
	pprof.StopCPUProfile()
	out.Close()
}
