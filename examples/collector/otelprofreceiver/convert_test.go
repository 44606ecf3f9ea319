// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package otelprofreceiver

import (
	"slices"
	"strings"
	"testing"
	"time"
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

// Every key must reach its own member. The expected bits and kinds are written by hand
// from config.h.
func TestConfigInC(t *testing.T) {
	m := &cMemory{}
	defer m.free()
	config := &Config{
		SampleRateHz: 1, Kinds: []string{"cpu", "off_cpu"}, OffCPUSamples: 7, CPUBudget: 9,
		PollBudget: 11, OffCPUMin: 8 * time.Microsecond, MaxFrames: 2, MaxProcesses: 3, MemoryBudgetBytes: 4,
		SymbolBudgetBytes: 5, MemoryLimitBytes: 10, RingBytes: 6, ServiceName: text("name"),
		ProcfsRoot: "/p", SysfsRoot: "/s", LayoutsDir: "/l", Attributes: map[string]string{"b": "", "a": "x"},
		Environment: []string{"E", "F"}, Runtimes: map[string]bool{"python": false},
	}
	c := cConfig(config, m)
	equal(t, "sample_rate_hz", c.sample_rate_hz, 1)
	equal(t, "max_frames", c.max_frames, 2)
	equal(t, "max_processes", c.max_processes, 3)
	equal(t, "memory_budget_bytes", c.memory_budget_bytes, 4)
	equal(t, "symbol_budget_bytes", c.symbol_budget_bytes, 5)
	equal(t, "memory_limit_bytes", c.memory_limit_bytes, 10)
	equal(t, "ring_bytes", c.ring_bytes, 6)
	equal(t, "service_name", goText(c.service_name), "name")
	equal(t, "procfs_root", goText(c.procfs_root), "/p")
	equal(t, "sysfs_root", goText(c.sysfs_root), "/s")
	equal(t, "layouts_dir", goText(c.layouts_dir), "/l")
	equal(t, "kinds", c.kinds, 1<<0|1<<2)
	equal(t, "off_cpu_samples", c.off_cpu_samples, 7)
	equal(t, "cpu_budget_permille", c.cpu_budget_permille, 9)
	equal(t, "poll_budget_ms", c.poll_budget_ms, 11)
	equal(t, "off_cpu_min_ns", c.off_cpu_min_ns, 8000)
	equal(t, "runtimes_off", c.runtimes_off, 1<<1)
	equal(t, "size", uintptr(c.size), unsafe.Sizeof(*c))

	attributes := unsafe.Slice(c.attributes, c.attributes_len)
	equal(t, "attributes", len(attributes), 2)
	equal(t, "attribute 0", goText(attributes[0].key)+"="+goText(attributes[0].value), "a=x")
	equal(t, "attribute 1", goText(attributes[1].key)+"="+goText(attributes[1].value), "b=")
	environment := unsafe.Slice(c.environment, c.environment_len)
	equal(t, "environment", len(environment), 2)
	equal(t, "environment 1", goText(environment[1]), "F")

	equal(t, "service_name, unset", goText(cConfig(&Config{}, m).service_name), "NULL")
	equal(t, "service_name, empty",
		goText(cConfig(&Config{ServiceName: text("")}, m).service_name), "")
	for _, flag := range []struct {
		bit    uint
		config Config
	}{
		{0, Config{UserStacks: true, NativeNames: true, StartScan: true, HostAttributes: true}},
		{1, Config{KernelStacks: true, NativeNames: true, StartScan: true, HostAttributes: true}},
		{2, Config{KernelStacks: true, UserStacks: true, StartScan: true, HostAttributes: true}},
		{3, Config{KernelStacks: true, UserStacks: true, NativeNames: true, StartScan: true,
			HostAttributes: true, IdleStacks: true}},
		{4, Config{KernelStacks: true, UserStacks: true, NativeNames: true, StartScan: true,
			HostAttributes: true, CommandLine: true}},
		{5, Config{KernelStacks: true, UserStacks: true, NativeNames: true,
			HostAttributes: true}},
		{7, Config{KernelStacks: true, UserStacks: true, NativeNames: true, StartScan: true}},
		{10, Config{KernelStacks: true, UserStacks: true, NativeNames: true, StartScan: true,
			HostAttributes: true, AwaitChains: true}},
	} {
		equal(t, "flags", uint64(cConfig(&flag.config, m).flags), 1<<flag.bit)
	}
	equal(t, "flags of the default", cConfig(defaultConfig(), m).flags, 0)
}

func TestLimitsAreTaken(t *testing.T) {
	needLive(t)
	for _, change := range []func(*Config){
		func(c *Config) {
			c.SampleRateHz, c.MaxFrames, c.MemoryBudgetBytes = 1, framesMin, memoryBudgetMin
			c.MaxProcesses, c.RingBytes, c.MaxRequestBytes = 1, ringBytesMin, requestBytesMin
		},
		func(c *Config) {
			c.SampleRateHz, c.MaxFrames, c.MemoryBudgetBytes = rateMaxHz, framesMax, memoryBudgetMax
			c.MaxRequestBytes, c.QueueBytes = requestBytesMax, requestBytesMax
			c.Environment = []string{strings.Repeat("A", variableNameMax)}
			c.Rules = slices.Repeat([]string{"include comm:" + strings.Repeat("c", 15)}, 4096)
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
