// SPDX-License-Identifier: Apache-2.0

// Allocations in known places. It prints "ready" and then does what its input says:
//
//	work         allocate, and free some of it
//	dump FILE    write the heap profile as the runtime itself tells of it
//
// With an argument, the name of a file, it works and dumps once, and waits.
//
// The garbage collector runs only where this program says so, so that the profile, which is
// that of the last collection but one, stands still in between.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"strings"
	"time"
)

var kept [][]byte
var index = map[string][]int{}

var _ = func() bool {
	if n, err := strconv.Atoi(os.Getenv("MEMPROFILERATE")); err == nil {
		runtime.MemProfileRate = n
	}
	debug.SetGCPercent(-1)
	return true
}()

//go:noinline
func keeps(n int) {
	for i := 0; i < n; i++ {
		kept = append(kept, make([]byte, 6<<10))
	}
}

//go:noinline
func frees(n int) {
	for i := 0; i < n; i++ {
		temporary = make([]byte, 3<<10)
	}
}

// These two are inlined into their caller.
func small(i int) *[24]int { return &[24]int{i} }
func inner(i int) *[24]int { return small(i + 1) }

//go:noinline
func many(n int) {
	for i := 0; i < n; i++ {
		last[i%len(last)] = inner(i)
	}
}

//go:noinline
func grows(n int) {
	for i := 0; i < n; i++ {
		key := strconv.Itoa(i + len(index))
		index[key] = append(index[key], i)
	}
}

// Deeper than the stacks that the runtime takes.
//
//go:noinline
func deep(n int) int {
	if n == 0 {
		kept = append(kept, make([]byte, 1<<20))
		return 1
	}
	return deep(n-1) + len(kept)
}

// The same function stands below itself, and has calls that are inlined.
//
//go:noinline
func recurses(n int) int {
	if n > 0 {
		return recurses(n-1) + len(inner(n))
	}
	keeps(100)
	return 1
}

var temporary []byte
var last [4096]*[24]int

func work() {
	keeps(10000)
	frees(10000)
	many(50000)
	grows(20000)
	for i := 0; i < 20; i++ {
		deep(200)
	}
	for i := 0; i < 100; i++ {
		recurses(5)
	}
	for i := 0; i < 3; i++ {
		runtime.GC()
	}
}

func dump(path string) {
	f, err := os.Create(path + ".new")
	if err == nil {
		err = pprof.Lookup("heap").WriteTo(f, 0)
	}
	if err == nil {
		err = f.Close()
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		panic(err)
	}
}

func main() {
	if len(os.Args) > 1 {
		work()
		dump(os.Args[1])
		time.Sleep(10 * time.Minute)
	}
	fmt.Println("ready")
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		if path, ok := strings.CutPrefix(in.Text(), "dump "); ok {
			dump(path)
		} else if in.Text() == "work" {
			work()
		}
		fmt.Println("done")
	}
}
