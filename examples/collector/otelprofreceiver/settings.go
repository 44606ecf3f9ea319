// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package otelprofreceiver

// #include <stdlib.h>
// #include <otelprof/otelprof.h>
import "C"

import (
	"errors"
	"unsafe"
)

// newSettings gives the keys of config to the library, which knows them, their ranges and units.
// The caller frees them.
func newSettings(config *Config) (*C.struct_otelprof_settings, error) {
	var s *C.struct_otelprof_settings
	if C.otelprof_settings_new(&s) < 0 {
		return nil, errors.New("no memory")
	}
	err := config.texts(func(key, text string) error {
		why := C.struct_otelprof_error_info{size: C.sizeof_struct_otelprof_error_info}
		k, v := C.CString(key), C.CString(text)
		defer C.free(unsafe.Pointer(k))
		defer C.free(unsafe.Pointer(v))
		if C.otelprof_settings_set(s, k, v, &why) < 0 {
			return errors.New(C.GoString(&why.message[0]))
		}
		return nil
	})
	if err == nil {
		err = checkSettings(s)
	}
	if err != nil {
		return C.otelprof_settings_free(s), err
	}
	return s, nil
}

func settingsConfig(s *C.struct_otelprof_settings) C.struct_otelprof_config {
	c := C.struct_otelprof_config{size: C.sizeof_struct_otelprof_config}
	C.otelprof_settings_get_config(s, &c)
	return c
}

func settingsRules(s *C.struct_otelprof_settings) []C.struct_otelprof_rule {
	n := C.size_t(0)
	rules := C.otelprof_settings_get_rules(s, &n)
	return unsafe.Slice(rules, n)
}

func freeSettings(s *C.struct_otelprof_settings) {
	C.otelprof_settings_free(s)
}

// checkSettings refuses keys that a receiver does not have.
func checkSettings(s *C.struct_otelprof_settings) error {
	const noStacks = C.OTELPROF_NO_KERNEL_STACKS | C.OTELPROF_NO_USER_STACKS
	c := settingsConfig(s)
	none := C.struct_otelprof_otlp_config{size: C.sizeof_struct_otelprof_otlp_config}
	otlp := none
	C.otelprof_settings_get_otlp(s, &otlp)
	switch {
	case c.flags&noStacks == noStacks:
		return errors.New("kernel_stacks and user_stacks are both off: nothing is left to profile")
	case c.threads != 0:
		return errors.New("threads: the receiver has its own")
	case c.log_level != 0:
		return errors.New("log_level: use service::telemetry::logs::level")
	case otlp != none:
		return errors.New("the keys of otelprof export for its server are those of an exporter here")
	}
	return nil
}

func validateSettings(config *Config) error {
	s, err := newSettings(config)
	freeSettings(s)
	return err
}

// hasRuntime tells whether the library has a runtime of this name.
func hasRuntime(name string) bool {
	return validateSettings(&Config{Runtimes: map[string]bool{name: true}}) == nil
}
