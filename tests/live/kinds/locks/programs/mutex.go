// SPDX-License-Identifier: Apache-2.0

// Goroutines that are bound to a thread wait for a mutex that another one holds. The program
// writes how long they waited by the clock, in ns.
package main

import (
	"fmt"
	"runtime"
	"sync"
	"time"
)

const (
	times = 300
	hold  = 5 * time.Millisecond
)

var mutex sync.Mutex

//go:noinline
func waits() {
	mutex.Lock()
	mutex.Unlock()
}

func main() {
	held := make(chan bool)
	done := make(chan bool)
	all := make(chan time.Duration)

	go func() {
		runtime.LockOSThread()
		var sum time.Duration
		for range held {
			begin := time.Now()
			waits()
			sum += time.Since(begin)
			done <- true
		}
		all <- sum
	}()
	for i := 0; i < times; i++ {
		mutex.Lock()
		held <- true
		time.Sleep(hold)
		mutex.Unlock()
		<-done
	}
	close(held)
	sum := <-all
	fmt.Println("stoplockedm", int64(sum)*97/100, int64(sum))
}
