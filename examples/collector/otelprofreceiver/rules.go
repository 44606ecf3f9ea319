// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package otelprofreceiver

// #include <stdlib.h>
// #include <otelprof/otelprof.h>
import "C"

import (
	"fmt"
	"strings"
)

// readRules reads rules in the words of the library's own key; the caller frees them.
func readRules(texts []string) (*C.struct_otelprof_settings, error) {
	m := &cMemory{}
	defer m.free()
	lines := ""
	for i, text := range texts {
		if strings.TrimSpace(text) == "" {
			return nil, fmt.Errorf("rules: rule %d is empty", i+1)
		}
		if strings.ContainsAny(text, "\n\x00") {
			return nil, fmt.Errorf("rules: rule %d has more than one line", i+1)
		}
		lines += "rules = " + text + "\n"
	}
	var settings *C.struct_otelprof_settings
	if C.otelprof_settings_new(&settings) < 0 {
		return nil, fmt.Errorf("rules: no memory")
	}
	why := C.struct_otelprof_error_info{size: C.sizeof_struct_otelprof_error_info}
	if C.otelprof_settings_read(settings, m.whole("rules"), m.whole(lines),
		C.size_t(len(lines)), &why) < 0 {
		C.otelprof_settings_free(settings)
		return nil, fmt.Errorf("%s", C.GoString(&why.message[0]))
	}
	return settings, nil
}

func validateRuleTexts(texts []string) error {
	settings, err := readRules(texts)
	C.otelprof_settings_free(settings)
	return err
}

// setRules sets the list of rules.
func (p *profiler) setRules(texts []string) error {
	settings, err := readRules(texts)
	if err != nil {
		return err
	}
	defer C.otelprof_settings_free(settings)
	n := C.size_t(0)
	rules := C.otelprof_settings_get_rules(settings, &n)
	if r := C.otelprof_set_rules(p.p, rules, n); r < 0 {
		return p.failed("otelprof_set_rules", r)
	}
	return nil
}

// sample switches sampling on or off, by a rule behind all others.
func (p *profiler) sample(on bool) error {
	if on == (p.off == 0) {
		return nil
	}
	if on {
		C.otelprof_remove_rule(p.p, p.off)
		p.off = 0
		return nil
	}
	rule := C.struct_otelprof_rule{}
	C.otelprof_rule_init(&rule, C.sizeof_struct_otelprof_rule)
	rule.kind = C.OTELPROF_MATCH_ALL
	rule.action = C.OTELPROF_RULE_EXCLUDE
	if r := C.otelprof_add_rule(p.p, &rule, &p.off); r < 0 {
		return p.failed("otelprof_add_rule", r)
	}
	return nil
}
