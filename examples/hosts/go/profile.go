// SPDX-License-Identifier: Apache-2.0

// Command profile uses the profiler in a Go program, by cgo and without the Collector: it
// profiles this host for as many seconds as the argument says (3).
package main

/*
#cgo pkg-config: otelprof
#include <otelprof/otelprof.h>

int takeRequest(uintptr_t handle, void *request, size_t len, uint64_t samples);

static int on_request(void *userdata, const void *request, size_t len, uint64_t samples)
{
	return takeRequest((uintptr_t)userdata, (void *)request, len, samples);
}

static int add_callback(struct otelprof *p, uintptr_t handle)
{
	struct otelprof_callback_config config;

	otelprof_callback_config_init(&config, sizeof(config));
	config.fn = on_request;
	config.userdata = (void *)handle;
	return otelprof_exporter_callback(p, &config);
}
*/
import "C"

import (
	"errors"
	"fmt"
	"os"
	"runtime/cgo"
	"strconv"
	"time"
	"unsafe"
)

// A Profiler may be used by several goroutines: calls on a handle may come from any thread.
type Profiler struct {
	p    *C.struct_otelprof
	self cgo.Handle // what C holds instead of a Go pointer
	take func(request []byte, samples uint64) error
}

//export takeRequest
func takeRequest(handle C.uintptr_t, request unsafe.Pointer, n C.size_t, samples C.uint64_t) C.int {
	p := cgo.Handle(handle).Value().(*Profiler)
	if err := p.take(unsafe.Slice((*byte)(request), int(n)), uint64(samples)); err != nil {
		return -5 // -EIO: the samples count as dropped
	}
	return 0
}

// New makes a profiler. take is called with each request, which is valid during the call.
func New(rateHz uint32, take func([]byte, uint64) error) (*Profiler, error) {
	p := &Profiler{take: take}
	why := C.struct_otelprof_error_info{size: C.sizeof_struct_otelprof_error_info}
	config := C.struct_otelprof_config{}
	C.otelprof_config_init(&config, C.sizeof_struct_otelprof_config)
	config.sample_rate_hz = C.uint32_t(rateHz)
	// A thread of the library does the work, so that no goroutine has to wait inside
	// C.
	config.threads = 1
	if C.otelprof_init(&config, &why, &p.p) < 0 {
		return nil, errors.New(C.GoString(&why.message[0]))
	}
	p.self = cgo.NewHandle(p)
	if err := p.check(C.add_callback(p.p, C.uintptr_t(p.self))); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// Close frees the profiler.
func (p *Profiler) Close() {
	C.otelprof_free(p.p)
	p.self.Delete()
}

func (p *Profiler) check(r C.int) error {
	if r >= 0 {
		return nil
	}
	why := C.struct_otelprof_error_info{size: C.sizeof_struct_otelprof_error_info}
	if C.otelprof_last_error(p.p, &why) < 0 || why.code != C.int32_t(r) {
		return errors.New(C.GoString(C.otelprof_strerror(r)))
	}
	return errors.New(C.GoString(&why.message[0]))
}

func run(seconds int) error {
	total := uint64(0)
	p, err := New(99, func(request []byte, samples uint64) error {
		fmt.Printf("request of %d bytes with %d samples\n", len(request), samples)
		total += samples
		return nil
	})
	if err != nil {
		return err
	}
	defer p.Close()
	if err := p.check(C.otelprof_start(p.p)); err != nil {
		return err
	}
	time.Sleep(time.Duration(seconds) * time.Second)
	if err := p.check(C.otelprof_stop(p.p)); err != nil {
		return err
	}
	if err := p.check(C.otelprof_export(p.p)); err != nil {
		return err
	}
	if total == 0 {
		return errors.New("no samples")
	}
	fmt.Printf("%d samples\n", total)
	return nil
}

func main() {
	seconds := 3
	if len(os.Args) > 1 {
		seconds, _ = strconv.Atoi(os.Args[1])
	}
	if err := run(seconds); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
