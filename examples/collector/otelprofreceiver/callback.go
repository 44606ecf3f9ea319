// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package otelprofreceiver

// #include <stdint.h>
// #include <stddef.h>
import "C"

import (
	"math"
	"runtime/cgo"
	"unsafe"

	"go.uber.org/zap/zapcore"
	"golang.org/x/sys/unix"
)

// The functions that the library calls, within a call of the goroutine that drives it.

//export otelprofGoLog
func otelprofGoLog(handle C.uintptr_t, level C.int, message *C.char) {
	p := cgo.Handle(handle).Value().(*profiler)
	p.logger.Log(zapLevel(int(level)), "libotelprof: "+C.GoString(message))
}

//export otelprofGoRequest
func otelprofGoRequest(handle C.uintptr_t, bytes unsafe.Pointer, size C.size_t,
	samples C.uint64_t) C.int {
	p := cgo.Handle(handle).Value().(*profiler)
	if size > math.MaxInt32 { // the limit of C.GoBytes
		return -C.int(unix.EMSGSIZE)
	}
	if !p.put(request{bytes: C.GoBytes(bytes, C.int(size)), samples: uint64(samples)}) {
		return -C.int(unix.ENOBUFS)
	}
	return 0
}

//export otelprofGoUnwindError
func otelprofGoUnwindError(handle C.uintptr_t, name *C.char, count C.uint64_t) {
	p := cgo.Handle(handle).Value().(*profiler)
	p.unwinds[C.GoString(name)] = uint64(count)
}

//export otelprofGoDrop
func otelprofGoDrop(handle C.uintptr_t, name *C.char, count C.uint64_t) {
	p := cgo.Handle(handle).Value().(*profiler)
	p.drops[C.GoString(name)] = uint64(count)
}

// zapLevel converts a level of syslog(3).
func zapLevel(level int) zapcore.Level {
	switch {
	case level <= 3:
		return zapcore.ErrorLevel
	case level == 4:
		return zapcore.WarnLevel
	case level <= 6:
		return zapcore.InfoLevel
	default:
		return zapcore.DebugLevel
	}
}
