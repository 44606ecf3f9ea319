// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package otelprofreceiver

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"go.uber.org/zap"
)

// goText is the text of a C string, "NULL" for a NULL pointer.
func goText[T any](c *T) string {
	if c == nil {
		return "NULL"
	}
	text := ""
	for p := unsafe.Pointer(c); *(*byte)(p) != 0; p = unsafe.Add(p, 1) {
		text += string(*(*byte)(p))
	}
	return text
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %v and must be %v", what, got, want)
	}
}

// What one line of YAML makes of the library's configuration. The expected bits and kinds are
// written by hand from config.h.
func TestSettingsInC(t *testing.T) {
	config, err := load(t, `{sample_rate_hz: 49, kinds: [cpu, off_cpu], off_cpu_min: 8us,
		cpu_budget: 0.5, memory_limit_bytes: 64MiB, ring_bytes: 65536, kernel_stacks: false,
		idle_stacks: true, runtimes: {php: true, python: false}, service_name: "",
		attributes: {b: "", a: "x,%2C"}, environment: [E, F], procfs_root: /p,
		probes: ["kprobe:x"], rules: [include pid:1, "exclude comm:a,b"]}`)
	if err != nil {
		t.Fatal(err)
	}
	s, err := newSettings(config)
	if err != nil {
		t.Fatal(err)
	}
	defer freeSettings(s)
	c := settingsConfig(s)
	equal(t, "sample_rate_hz", c.sample_rate_hz, 49)
	equal(t, "kinds", c.kinds, 1<<0|1<<2|1<<9)
	equal(t, "off_cpu_min_ns", c.off_cpu_min_ns, 8000)
	equal(t, "cpu_budget_permille", c.cpu_budget_permille, 5)
	equal(t, "memory_limit_bytes", c.memory_limit_bytes, 64<<20)
	equal(t, "ring_bytes", c.ring_bytes, 65536)
	equal(t, "flags", c.flags, 1<<0|1<<3)
	equal(t, "runtimes_off", c.runtimes_off, 1<<1)
	equal(t, "service_name", goText(c.service_name), "")
	equal(t, "procfs_root", goText(c.procfs_root), "/p")
	equal(t, "sysfs_root", goText(c.sysfs_root), "NULL")
	attributes := unsafe.Slice(c.attributes, c.attributes_len)
	equal(t, "attributes", len(attributes), 2)
	equal(t, "attribute 0", goText(attributes[0].key)+"="+goText(attributes[0].value), "a=x,%2C")
	equal(t, "attribute 1", goText(attributes[1].key)+"="+goText(attributes[1].value), "b=")
	environment := unsafe.Slice(c.environment, c.environment_len)
	equal(t, "environment", len(environment), 2)
	equal(t, "environment 1", goText(environment[1]), "F")
	rules := settingsRules(s)
	equal(t, "rules", len(rules), 2)
	equal(t, "rule 0", rules[0].number, 1)
	equal(t, "rule 1", goText(rules[1].text), "a,b")
}

// keyLine is a key of the table that a receiver has, its type and its least value.
var keyLine = regexp.MustCompile(`(?m)^OP_KEY\((\w+), \w+, \w+, (\w+), (\w+), .*, ALL, `)

// Each key of the table is one of the receiver, with a value of YAML's own type.
func TestKeysOfTheLibrary(t *testing.T) {
	table, err := os.ReadFile("../../../lib/api/settings/keys.def")
	if err != nil {
		t.Skip(err)
	}
	found := keyLine.FindAllStringSubmatch(string(table), -1)
	if len(found) < 30 {
		t.Fatal("keys: ", len(found))
	}
	for _, row := range found {
		values := map[string]string{"ON": "true", "OFF": "false", "TEXT": "/x", "NAMES": "[A, B]",
			"PAIRS": "{a: b}", "PROBES": "[kprobe:x]", "RULES": "[include pid:1]",
			"BITS": map[string]string{"kinds": "[cpu, wall]", "runtimes_off": "[php]"}[row[1]]}
		value := values[row[2]]
		if value == "" {
			value = strings.Replace(row[3], "UINT64_MAX", "1", 1)
		}
		if _, err := load(t, row[1]+": "+value); err != nil {
			t.Errorf("%s: %s: %v", row[1], value, err)
		}
	}
}

// The library must accept the largest values that Validate accepts.
func TestLimitsAreTaken(t *testing.T) {
	needLive(t)
	for _, change := range []func(*Config){
		func(c *Config) {
			for _, key := range []string{"sample_rate_hz", "max_processes"} {
				c.set(key, 1)
			}
			c.set("max_frames", 16)
			c.set("memory_budget_bytes", "1MiB")
			c.set("ring_bytes", "64KiB")
			c.MaxRequestBytes = requestBytesMin
		},
		func(c *Config) {
			c.set("sample_rate_hz", 1000)
			c.set("max_frames", 1024)
			c.set("memory_budget_bytes", "1GiB")
			c.MaxRequestBytes, c.QueueBytes = requestBytesMax, requestBytesMax
			c.add("environment", strings.Repeat("A", 128))
			c.add("rules", slices.Repeat([]string{"include comm:" + strings.Repeat("c", 15)}, 4096)...)
		},
	} {
		config := defaultConfig()
		change(config)
		if err := config.Validate(); err != nil {
			t.Error(err)
		}
		p, err := openProfiler(config, nil, zap.NewNop())
		if err != nil {
			t.Error(err)
			continue
		}
		p.close()
	}
}
