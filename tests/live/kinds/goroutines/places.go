// SPDX-License-Identifier: Apache-2.0

// Goroutines in known places, which wait in known ways, some below a recursion. It prints
// "ready" once all of them were started, and then does what its input says:
//
//	dump FILE    write all goroutines as the runtime itself knows them
//
// With the argument "deep" there is a tenth of them, with a hundred frames and 12 KiB each.
package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"runtime/pprof"
	"strings"
	"sync"
	"syscall"
	"time"
)

const hour = time.Hour

var (
	never  = make(chan int)
	full   = make(chan int)
	other  = make(chan int)
	lock   sync.Mutex
	shared sync.RWMutex
	queue  = sync.NewCond(&sync.Mutex{})
	group  sync.WaitGroup
	depth  = 5
	share  = 1 // of the goroutines: one in so many
	sink   byte
)

//go:noinline
func receives(int) { <-never }

//go:noinline
func sends(int) { full <- 1 }

//go:noinline
func locks(int) { lock.Lock() }

//go:noinline
func reads(int) { shared.RLock() }

//go:noinline
func sleeps(int) { time.Sleep(hour) }

//go:noinline
func selects(int) {
	select {
	case <-never:
	case <-other:
	}
}

//go:noinline
func waits(int) {
	queue.L.Lock()
	queue.Wait()
}

//go:noinline
func joins(int) { group.Wait() }

//go:noinline
func blocks(int) { select {} }

//go:noinline
func network(i int) {
	var b [1]byte
	_, _ = conns[i].Read(b[:])
}

// A system call of its own, which the runtime's poller does not know of.
//
//go:noinline
func calls(i int) {
	var b [1]byte
	_, _ = syscall.Read(pipes[i], b[:])
}

//go:noinline
func works(int) {
	for i := 0; ; i++ {
		sink += byte(i)
	}
}

//go:noinline
func deeper(n, i int, wait func(int)) byte {
	var room [64]byte
	room[i%64] = byte(n)
	if n == 0 {
		wait(i)
	} else {
		room[1] += deeper(n-1, i, wait)
	}
	return room[n%64]
}

func begins(i int, wait func(int)) { sink += deeper(depth, i, wait) }

var conns []net.Conn
var pipes []int

// So many in each place; with the reader of commands and one that works there are more.
var places = []struct {
	count int
	wait  func(int)
}{
	{3000, receives}, {500, sends}, {2000, locks}, {300, reads}, {2000, sleeps},
	{1400, selects}, {200, waits}, {150, joins}, {150, blocks}, {296, network}, {4, calls},
}

func connect(n int) {
	path := fmt.Sprintf("@otelprof-goroutines-%d", os.Getpid())
	l, err := net.Listen("unix", path)
	if err != nil {
		panic(err)
	}
	for i := 0; i < n; i++ {
		to, err := net.Dial("unix", path)
		if err != nil {
			panic(err)
		}
		from, err := l.Accept()
		if err != nil {
			panic(err)
		}
		conns = append(conns, to, from)
	}
}

func dump(path string) {
	f, err := os.Create(path)
	if err == nil {
		err = pprof.Lookup("goroutine").WriteTo(f, 2)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		panic(err)
	}
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "deep" {
		depth, share = 90, 10
	}
	lock.Lock()
	shared.Lock()
	group.Add(1)
	connect(148)
	for i := 0; i < 4; i++ {
		var p [2]int
		if err := syscall.Pipe(p[:]); err != nil {
			panic(err)
		}
		pipes = append(pipes, p[0])
	}
	for _, p := range places {
		for i := 0; i < (p.count+share-1)/share; i++ {
			go begins(i, p.wait)
		}
	}
	go begins(0, works)
	fmt.Println("ready")
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		// CutPrefix came with Go 1.20.
		if strings.HasPrefix(in.Text(), "dump ") {
			dump(strings.TrimPrefix(in.Text(), "dump "))
		}
		fmt.Println("done")
	}
}
