// SPDX-License-Identifier: Apache-2.0

// Spans of goroutines: as spans.c, by the labels of runtime/pprof. A goroutine is a span, and is
// on whatever thread the scheduler gives it.
//
//	spans labels|ids SECONDS
package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"time"
)

const turn = 10 * time.Millisecond

var routes = [3]string{"/half", "/third", "/fifth"}
var shares = [3]int{5, 3, 2}
var work = [3]func(int){work0, work1, work2}

//go:noinline
func spin(n int) uint64 {
	x := uint64(1)
	for i := 0; i < n; i++ {
		x = x*3 + 1
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

// The spans of one goroutine take turns; it yields inside of a span too.
func run(end time.Time, unit int, ids bool) {
	for time.Now().Before(end) {
		for i := range shares {
			pprof.Do(context.Background(), labels(i, ids), func(context.Context) {
				for k := 0; k < shares[i]; k++ {
					work[i](unit)
					runtime.Gosched()
				}
			})
		}
	}
}

func main() {
	seconds, _ := strconv.Atoi(os.Args[2])
	start := time.Now()
	sink += spin(50000000)
	unit := int(float64(50000000) * float64(turn/10) / float64(time.Since(start)))
	fmt.Println("ready", os.Getpid())
	end := time.Now().Add(time.Duration(seconds) * time.Second)
	done := make(chan bool)
	for i := 0; i < 4; i++ {
		go func() { run(end, unit, os.Args[1] == "ids"); done <- true }()
	}
	for i := 0; i < 4; i++ {
		<-done
	}
}
