// SPDX-License-Identifier: Apache-2.0

// The chain in Go; chain.h says what is true of it by construction.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"
)

const (
	processCPUTime = 2
	threadCPUTime  = 3
)

func cpuNs(clock uintptr) uint64 {
	var ts syscall.Timespec
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clock, uintptr(unsafe.Pointer(&ts)), 0)
	return uint64(ts.Sec)*1000000000 + uint64(ts.Nsec)
}

type job struct {
	leaf    int
	untilNs uint64
	spins   uint64
}

//go:noinline
func leaf_a(j *job) {
	for cpuNs(threadCPUTime) < j.untilNs {
		for i := 0; i < 20000; i++ {
			j.spins++
		}
	}
}

//go:noinline
func leaf_b(j *job) {
	for cpuNs(threadCPUTime) < j.untilNs {
		for i := 0; i < 20000; i++ {
			j.spins++
		}
	}
}

//go:noinline
func leaf_c(j *job) {
	for cpuNs(threadCPUTime) < j.untilNs {
		for i := 0; i < 20000; i++ {
			j.spins++
		}
	}
}

//go:noinline
func f1(j *job) {
	switch j.leaf {
	case 0:
		leaf_a(j)
	case 1:
		leaf_b(j)
	default:
		leaf_c(j)
	}
}

//go:noinline
func f2(j *job) {
	f1(j)
}

//go:noinline
func f3(j *job) {
	var room [12]uint64
	room[j.leaf] = j.spins
	f2(j)
	j.spins += room[j.leaf] & 1
}

//go:noinline
func f4(j *job) {
	f3(j)
}

//go:noinline
func f5(j *job) {
	var room [20]uint64
	room[j.leaf] = j.spins
	f4(j)
	j.spins += room[j.leaf] & 1
}

//go:noinline
func f6(j *job) {
	f5(j)
}

//go:noinline
func f7(j *job) {
	var room [28]uint64
	room[j.leaf] = j.spins
	f6(j)
	j.spins += room[j.leaf] & 1
}

//go:noinline
func f8(j *job) {
	f7(j)
}

//go:noinline
func f9(j *job) {
	var room [36]uint64
	room[j.leaf] = j.spins
	f8(j)
	j.spins += room[j.leaf] & 1
}

//go:noinline
func f10(j *job) {
	f9(j)
}

//go:noinline
func f11(j *job) {
	var room [44]uint64
	room[j.leaf] = j.spins
	f10(j)
	j.spins += room[j.leaf] & 1
}

//go:noinline
func f12(j *job) {
	f11(j)
}

//go:noinline
func f13(j *job) {
	var room [52]uint64
	room[j.leaf] = j.spins
	f12(j)
	j.spins += room[j.leaf] & 1
}

//go:noinline
func f14(j *job) {
	f13(j)
}

//go:noinline
func f15(j *job) {
	var room [60]uint64
	room[j.leaf] = j.spins
	f14(j)
	j.spins += room[j.leaf] & 1
}

//go:noinline
func f16(j *job) {
	f15(j)
}

//go:noinline
func f17(j *job) {
	var room [68]uint64
	room[j.leaf] = j.spins
	f16(j)
	j.spins += room[j.leaf] & 1
}

//go:noinline
func f18(j *job) {
	f17(j)
}

//go:noinline
func f19(j *job) {
	var room [76]uint64
	room[j.leaf] = j.spins
	f18(j)
	j.spins += room[j.leaf] & 1
}

//go:noinline
func f20(j *job) {
	f19(j)
}

//go:noinline
func f21(j *job) {
	var room [84]uint64
	room[j.leaf] = j.spins
	f20(j)
	j.spins += room[j.leaf] & 1
}

//go:noinline
func f22(j *job) {
	f21(j)
}

//go:noinline
func f23(j *job) {
	var room [92]uint64
	room[j.leaf] = j.spins
	f22(j)
	j.spins += room[j.leaf] & 1
}

//go:noinline
func f24(j *job) {
	f23(j)
}

func main() {
	seconds := 1.0
	if len(os.Args) > 1 {
		seconds, _ = strconv.ParseFloat(os.Args[1], 64)
	}
	runtime.LockOSThread()
	fmt.Println("ready", os.Getpid())
	j := &job{}
	start := cpuNs(threadCPUTime)
	at := start
	random := uint64(88172645463325252)
	for at-start < uint64(seconds*1e9) {
		random ^= random << 13
		random ^= random >> 7
		random ^= random << 17
		cycle := 15000000 + random%10000000
		for leaf, share := range []uint64{5, 8, 10} {
			j.leaf = leaf
			j.untilNs = at + cycle*share/10
			f24(j)
		}
		at += cycle
	}
	fmt.Println("cpu_ns", cpuNs(processCPUTime))
}
