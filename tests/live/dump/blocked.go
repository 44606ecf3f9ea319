// SPDX-License-Identifier: Apache-2.0

// Three goroutines wait for a mutex that the main one holds while it reads a pipe.
package main

import (
	"fmt"
	"os"
	"sync"
	"time"
)

var held sync.Mutex

//go:noinline
func want() {
	held.Lock() // PLACE want sync.Mutex.Lock
}

func main() {
	held.Lock()
	for i := 0; i < 3; i++ {
		go want()
	}
	time.Sleep(300 * time.Millisecond)
	fmt.Println("ready")
	os.Stdin.Read(make([]byte, 1))
}
