// SPDX-License-Identifier: Apache-2.0

// Goroutines that wait for a mutex and for a channel, once two lines of input have come, and tell how
// long in ns, by their own clock:
//
//	waits SECONDS
package main

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"
)

var mu sync.Mutex

func work(d time.Duration) {
	for t := time.Now(); time.Since(t) < d; {
	}
}

//go:noinline
func waitsForMutex() time.Duration {
	t := time.Now()
	mu.Lock()
	d := time.Since(t)
	time.Sleep(3 * time.Millisecond)
	mu.Unlock()
	return d
}

//go:noinline
func waitsForChannel(c chan int) time.Duration {
	t := time.Now()
	<-c
	return time.Since(t)
}

func main() {
	s, _ := strconv.ParseFloat(os.Args[1], 64)
	fmt.Println("ready", os.Getpid())
	os.Stdin.Read(make([]byte, 3))
	fmt.Println("known")
	os.Stdin.Read(make([]byte, 3))
	end := time.Now().Add(time.Duration(s * 1e9))
	var wg sync.WaitGroup
	var sum [2]time.Duration
	var lock sync.Mutex
	for i := 0; i < 4; i++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			var d time.Duration
			for time.Now().Before(end) {
				d += waitsForMutex()
				work(200 * time.Microsecond)
			}
			lock.Lock()
			sum[0] += d
			lock.Unlock()
		}()
	}
	c := make(chan int)
	go func() {
		for i := 0; ; i++ {
			time.Sleep(time.Duration(1+i%7) * time.Millisecond)
			c <- i
		}
	}()
	var d time.Duration
	for time.Now().Before(end) {
		d += waitsForChannel(c)
		work(500 * time.Microsecond)
	}
	wg.Wait()
	sum[1] = d
	fmt.Println(sum[0].Nanoseconds(), sum[1].Nanoseconds())
}
