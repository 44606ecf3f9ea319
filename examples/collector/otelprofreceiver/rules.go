// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package otelprofreceiver

// #include <errno.h>
// #include <stdlib.h>
// #include <otelprof/otelprof.h>
import "C"

import (
	"math"

	"go.uber.org/zap"
)

// rules are those of the key rules, each in force or waiting until there is what it names.
type rules struct {
	settings *C.struct_otelprof_settings // has them
	number   []C.uint64_t                // of each in the library; 0: it waits
	told     []bool                      // that it waits
	standIn  C.uint64_t                  // see setStandIn; 0: none
}

// newRules takes over settings.
func newRules(settings *C.struct_otelprof_settings) *rules {
	n := 0
	for C.otelprof_settings_get_rule(settings, C.size_t(n)) != nil {
		n++
	}
	return &rules{settings: settings, number: make([]C.uint64_t, n), told: make([]bool, n)}
}

func (r *rules) free() {
	r.settings = C.otelprof_settings_free(r.settings)
}

// standRules adds the rules that are not in force yet, as far as there is what they name.
// Of the rules that mean a sample the last one decides, so those behind one that comes late
// are added again behind it.
func (p *profiler) standRules() error {
	r := p.rules
	for i := range r.number {
		if r.number[i] != 0 {
			continue
		}
		code := C.otelprof_add_rule(p.p, C.otelprof_settings_get_rule(r.settings, C.size_t(i)),
			&r.number[i])
		if code == -C.ENOENT {
			p.tellWaiting(i, code)
			continue
		}
		if code < 0 {
			return p.failed("otelprof_add_rule", code)
		}
		if r.told[i] {
			p.logger.Info("a rule is in force that waited", zap.Int("rule", i+1))
		}
		for j := i + 1; j < len(r.number); j++ {
			if r.number[j] != 0 {
				C.otelprof_remove_rule(p.p, r.number[j])
				r.number[j] = 0
			}
		}
	}
	return p.setStandIn(r.includeWaits())
}

func (p *profiler) tellWaiting(i int, code C.int) {
	if p.rules.told[i] {
		return
	}
	p.rules.told[i] = true
	p.logger.Warn("a rule waits until there is what it names", zap.Int("rule", i+1),
		zap.Error(p.failed("otelprof_add_rule", code)))
}

func (r *rules) includeWaits() bool {
	for i, number := range r.number {
		rule := C.otelprof_settings_get_rule(r.settings, C.size_t(i))
		if number == 0 && rule.action == C.OTELPROF_FILTER_INCLUDE {
			return true
		}
	}
	return false
}

// setStandIn: while a rule that includes waits, what it does not mean is left out, too. A rule
// that includes no process stands in for it.
func (p *profiler) setStandIn(wanted bool) error {
	r := p.rules
	if wanted == (r.standIn != 0) {
		return nil
	}
	if !wanted {
		C.otelprof_remove_rule(p.p, r.standIn)
		r.standIn = 0
		return nil
	}
	rule := C.struct_otelprof_rule{}
	C.otelprof_rule_init(&rule, C.sizeof_struct_otelprof_rule)
	rule.kind = C.OTELPROF_FILTER_PID
	rule.number = math.MaxInt32 // above what a process can have
	if code := C.otelprof_add_rule(p.p, &rule, &r.standIn); code < 0 {
		return p.failed("otelprof_add_rule", code)
	}
	return nil
}
