// SPDX-License-Identifier: Apache-2.0

// Go that calls C that calls Go.
package main

// void call_back(void);
import "C"

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

var sink uint32

//go:noinline
func inner() {
	for i := uint32(0); i < 100000; i++ {
		sink = sink*31 + i
	}
}

//export goInner
func goInner() {
	inner()
}

//go:noinline
func outer() {
	C.call_back()
}

func main() {
	outer()
	fmt.Println("ready")
	seconds, _ := strconv.Atoi(os.Args[1])
	for end := time.Now().Add(time.Duration(seconds) * time.Second); time.Now().Before(end); {
		outer()
	}
}
