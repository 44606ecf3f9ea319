// SPDX-License-Identifier: Apache-2.0

//go:build profile

// What a program of Go needs for a profile of its own.
package main

import (
	"os"
	"runtime/pprof"
	"time"
)

func init() {
	f, err := os.Create(os.Getenv("PROFILE"))
	if err != nil {
		os.Exit(1)
	}
	if pprof.StartCPUProfile(f) != nil {
		os.Exit(1)
	}
	time.AfterFunc(2*time.Second, func() {
		pprof.StopCPUProfile()
		os.Exit(0)
	})
}
