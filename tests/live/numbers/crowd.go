// SPDX-License-Identifier: Apache-2.0

// Goroutines that wait in three places: after the first line of input as many as fits a random number,
// and after the second one others, in bursts, while short ones come and go. It tells how many are there:
//
//	crowd SEED
package main

import (
	"fmt"
	"math/rand"
	"os"
	"strconv"
	"sync"
	"time"
)

const most = 1500

var (
	never = make(chan int)
	lock  sync.Mutex
)

//go:noinline
func receives(end chan int) {
	select {
	case <-never:
	case <-end:
	}
}

//go:noinline
func locks(chan int) { lock.Lock() }

//go:noinline
func sleeps(chan int) { time.Sleep(time.Hour) }

//go:noinline
func short(wg *sync.WaitGroup) {
	time.Sleep(time.Millisecond)
	wg.Done()
}

func main() {
	seed, _ := strconv.ParseInt(os.Args[1], 10, 64)
	r := rand.New(rand.NewSource(seed))
	lock.Lock()
	fmt.Println("ready", os.Getpid())
	os.Stdin.Read(make([]byte, 3))
	end := make(chan int)
	for i := r.Intn(most); i >= 0; i-- {
		go receives(end)
	}
	fmt.Println("known")
	os.Stdin.Read(make([]byte, 3))
	close(end) // those of before leave
	var n [3]int
	stay := make(chan int)
	for i := 0; i < 20; i++ {
		var wg sync.WaitGroup
		for k := r.Intn(most / 10); k >= 0; k-- {
			place := r.Intn(3)
			n[place]++
			go []func(chan int){receives, locks, sleeps}[place](stay)
			wg.Add(1)
			go short(&wg)
		}
		wg.Wait()
	}
	time.Sleep(200 * time.Millisecond)
	fmt.Println(n[0], n[1], n[2])
	time.Sleep(time.Hour)
}
