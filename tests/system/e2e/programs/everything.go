// SPDX-License-Identifier: Apache-2.0

// Does something of every kind of events over and over: works, faults, sleeps, waits for locks of
// its own and of the kernel, writes past the page cache, renames its thread, starts and kills a
// process, allocates. Its argument is a folder on a disk. Linux, x86-64 and aarch64.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
	"unsafe"
)

const (
	page      = 4096
	pages     = 200
	parked    = 20
	writers   = 4
	writes    = 20
	chunk     = 1 << 20
	spins     = 2000000
	keep      = 8 // what is allocated in so many rounds is in use
	prSetName = 15
	futexWait = 128 // private
)

var (
	never = make(chan int)
	kept  [keep][]byte
	count uint64
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

//go:noinline
func works() {
	for i := uint64(0); i < spins; i++ {
		count += i * i
	}
}

//go:noinline
func faults() {
	area, err := syscall.Mmap(-1, 0, pages*page, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_PRIVATE|syscall.MAP_ANON)
	check(err)
	for i := 0; i < pages; i++ {
		area[i*page] = 1
	}
	check(syscall.Munmap(area))
}

// In the thread itself, and not as a goroutine that is parked.
//
//go:noinline
func sleeps() {
	_ = syscall.Nanosleep(&syscall.Timespec{Nsec: 2000000}, nil)
}

//go:noinline
func locks() {
	word := uint32(1)
	limit := syscall.Timespec{Nsec: 2000000}
	_, _, _ = syscall.Syscall6(syscall.SYS_FUTEX, uintptr(unsafe.Pointer(&word)), futexWait, 1,
		uintptr(unsafe.Pointer(&limit)), 0, 0)
}

// Who writes to a file has the lock of its inode.
//
//go:noinline
func contends(file *os.File, data []byte, done chan<- bool) {
	runtime.LockOSThread()
	for i := 0; i < writes; i++ {
		_, err := file.WriteAt(data, 0)
		check(err)
	}
	done <- true
}

func contend(file *os.File, data []byte) {
	done := make(chan bool)
	for i := 0; i < writers; i++ {
		go contends(file, data, done)
	}
	for i := 0; i < writers; i++ {
		<-done
	}
}

//go:noinline
func disk(fd int, data []byte) {
	_, err := syscall.Pwrite(fd, data, 0)
	check(err)
}

//go:noinline
func renames() {
	name := []byte("everything\x00")
	_, _, _ = syscall.Syscall(syscall.SYS_PRCTL, prSetName, uintptr(unsafe.Pointer(&name[0])), 0)
}

//go:noinline
func kills() {
	child := exec.Command("sleep", "60")
	check(child.Start())
	check(child.Process.Kill())
	_ = child.Wait()
}

//go:noinline
func allocates(round int) {
	kept[round%keep] = make([]byte, chunk)
}

//go:noinline
func parks() { <-never }

func main() {
	runtime.LockOSThread()
	direct, err := os.CreateTemp(os.Args[1], "everything")
	check(err)
	check(os.Remove(direct.Name()))
	_, _, failed := syscall.Syscall(syscall.SYS_FCNTL, direct.Fd(), syscall.F_SETFL,
		syscall.O_DIRECT)
	if failed != 0 {
		check(failed)
	}
	cached, err := os.CreateTemp("/dev/shm", "everything")
	check(err)
	check(os.Remove(cached.Name()))
	aligned, err := syscall.Mmap(-1, 0, page, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_PRIVATE|syscall.MAP_ANON)
	check(err)
	data := make([]byte, chunk)
	for i := 0; i < parked; i++ {
		go parks()
	}
	_, _ = runtime.MemProfile(nil, false) // the linker turns the profile off where nobody reads it
	fmt.Println("ready", os.Getpid())
	for round := 0; ; round++ {
		works()
		faults()
		sleeps()
		locks()
		contend(cached, data)
		disk(int(direct.Fd()), aligned)
		renames()
		kills()
		allocates(round)
		runtime.GC()
		time.Sleep(20 * time.Millisecond)
	}
}
