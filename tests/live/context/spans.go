// SPDX-License-Identifier: Apache-2.0

// Spans of goroutines: as spans.c, by the labels of runtime/pprof. A goroutine is a span, and is
// on whatever thread the scheduler gives it.
//
//	spans none|labels|ids SECONDS
//
// none: the same work, and no labels. SECONDS are of CPU time, of all threads.
package main

import (
	"context"
	"fmt"
	"math/rand"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"syscall"
	"time"
)

const turn = 10 * time.Millisecond

var routes = [3]string{"/half", "/third", "/fifth"}
var shares = [3]int{5, 3, 2}
var work = [3]func(int){work0, work1, work2}

//go:noinline
func step(x uint64) uint64 {
	for i := 0; i < 1000; i++ {
		x = x*3 + 1
	}
	return x
}

// It calls, so it has a frame: a profiler that goes by frame pointers misses the caller of one
// that has none, and here that is the span's function.
//
//go:noinline
func spin(n int) uint64 {
	x := uint64(1)
	for i := 0; i < n; i += 1000 {
		x = step(x)
	}
	return x
}

var sink uint64

//go:noinline
func work0(n int) { sink += spin(n) }

//go:noinline
func work1(n int) { sink += spin(n) }

//go:noinline
func work2(n int) { sink += spin(n) }

func labels(i int, ids bool) pprof.LabelSet {
	if !ids {
		return pprof.Labels("http.route", routes[i], "span.number", strconv.Itoa(i))
	}
	return pprof.Labels("http.route", routes[i], "span.number", strconv.Itoa(i),
		"trace_id", "ab000000000000000000000000000001",
		"span_id", fmt.Sprintf("cd0000000000000%d", i+1))
}

func cpu() time.Duration {
	var use syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &use) != nil {
		panic("no clock")
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// The spans of one goroutine take turns; it yields inside of a span too. A turn is not always of
// the same length: see spans.c.
func run(end time.Duration, unit int, mode string) {
	for cpu() < end {
		n := unit/2 + rand.Intn(unit)
		for i := range shares {
			span := func(context.Context) {
				for k := 0; k < shares[i]; k++ {
					work[i](n)
					runtime.Gosched()
				}
			}
			if mode == "none" {
				span(nil)
			} else {
				pprof.Do(context.Background(), labels(i, mode == "ids"), span)
			}
		}
	}
}

func main() {
	seconds, _ := strconv.Atoi(os.Args[2])
	start := time.Now()
	sink += spin(50000000)
	unit := int(float64(50000000) * float64(turn/10) / float64(time.Since(start)))
	fmt.Println("ready", os.Getpid())
	end := cpu() + time.Duration(seconds)*time.Second
	done := make(chan bool)
	for i := 0; i < 4; i++ {
		go func() { run(end, unit, os.Args[1]); done <- true }()
	}
	for i := 0; i < 4; i++ {
		<-done
	}
}
