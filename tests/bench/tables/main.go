// SPDX-License-Identifier: Apache-2.0

// What the peer spends on the unwind table of one file: its own extraction, in a process
// that does nothing else. Prints "MILLISECONDS PEAK_KIB KERNEL_BYTES".
package main

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"go.opentelemetry.io/ebpf-profiler/nativeunwind/elfunwindinfo"
)

func peakKiB() int64 {
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return usage.Maxrss
}

func main() {
	before := peakKiB()
	start := time.Now()
	data, err := elfunwindinfo.Extract(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	elapsed := time.Since(start)
	// The peer's kernel table: 8 bytes a delta, as an array of the next power of two.
	size := uint64(1)
	for size < uint64(data.NumDeltas) {
		size *= 2
	}
	fmt.Printf("%.3f %d %d\n", float64(elapsed.Microseconds())/1000, peakKiB()-before, size*8)
}
