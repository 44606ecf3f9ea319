// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package otelprofreceiver

// #include <stdlib.h>
// #include <otelprof/otelprof.h>
import "C"

import (
	"maps"
	"slices"
	"unsafe"
)

// cMemory is C memory that lives as long as one call.
type cMemory struct {
	blocks []unsafe.Pointer
}

func (m *cMemory) free() {
	for _, block := range m.blocks {
		C.free(block)
	}
	m.blocks = nil
}

// text is a C string, or NULL for "".
func (m *cMemory) text(s string) *C.char {
	if s == "" {
		return nil
	}
	return m.whole(s)
}

// whole is a C string, also for "".
func (m *cMemory) whole(s string) *C.char {
	c := C.CString(s)
	m.blocks = append(m.blocks, unsafe.Pointer(c))
	return c
}

// block is n zeroed elements. If C has no memory, Go ends the process, as for its own
// memory.
func block[T any](m *cMemory, n int) []T {
	if n == 0 {
		return nil
	}
	var t T
	p := C.calloc(C.size_t(n), C.size_t(unsafe.Sizeof(t)))
	m.blocks = append(m.blocks, p)
	return unsafe.Slice((*T)(p), n)
}

func cConfig(config *Config, m *cMemory) *C.struct_otelprof_config {
	c := &block[C.struct_otelprof_config](m, 1)[0]
	C.otelprof_config_init(c, C.sizeof_struct_otelprof_config)
	flag := func(on bool, bit C.uint64_t) {
		if on {
			c.flags |= bit
		}
	}
	flag(!config.KernelStacks, C.OTELPROF_NO_KERNEL_STACKS)
	flag(!config.UserStacks, C.OTELPROF_NO_USER_STACKS)
	flag(!config.NativeNames, C.OTELPROF_NO_NATIVE_NAMES)
	flag(config.IdleStacks, C.OTELPROF_IDLE)
	flag(config.AwaitChains, C.OTELPROF_AWAIT_CHAINS)
	flag(config.CommandLine, C.OTELPROF_COMMAND_LINE)
	flag(!config.StartScan, C.OTELPROF_NO_START_SCAN)
	flag(!config.HostAttributes, C.OTELPROF_NO_HOST)
	for name, on := range config.Runtimes {
		if !on {
			c.runtimes_off |= C.uint64_t(runtimes[name])
		}
	}
	for _, name := range config.Kinds {
		c.kinds |= C.uint64_t(kinds[name])
	}
	c.off_cpu_samples = C.uint32_t(config.OffCPUSamples)
	c.off_cpu_min_ns = C.uint64_t(config.OffCPUMin)
	c.cpu_budget_permille = C.uint32_t(config.CPUBudget)
	c.poll_budget_ms = C.uint32_t(config.PollBudget)
	c.probe_samples = C.uint32_t(config.ProbeSamples)
	c.layouts_dir = m.text(config.LayoutsDir)
	c.memory_budget_bytes = C.uint64_t(config.MemoryBudgetBytes)
	c.symbol_budget_bytes = C.uint64_t(config.SymbolBudgetBytes)
	c.memory_limit_bytes = C.uint64_t(config.MemoryLimitBytes)
	c.sample_rate_hz = C.uint32_t(config.SampleRateHz)
	c.max_frames = C.uint32_t(config.MaxFrames)
	c.max_processes = C.uint32_t(config.MaxProcesses)
	c.ring_bytes = C.uint32_t(config.RingBytes)
	c.procfs_root = m.text(config.ProcfsRoot)
	c.sysfs_root = m.text(config.SysfsRoot)
	if config.ServiceName != nil {
		c.service_name = m.whole(*config.ServiceName)
	}

	attributes := block[C.struct_otelprof_attribute](m, len(config.Attributes))
	for i, key := range slices.Sorted(maps.Keys(config.Attributes)) {
		attributes[i].key = m.whole(key)
		attributes[i].value = m.whole(config.Attributes[key])
	}
	c.attributes = unsafe.SliceData(attributes)
	c.attributes_len = C.size_t(len(attributes))

	environment := block[*C.char](m, len(config.Environment))
	for i, name := range config.Environment {
		environment[i] = m.whole(name)
	}
	c.environment = unsafe.SliceData(environment)
	c.environment_len = C.size_t(len(environment))
	return c
}

func goStats(c *C.struct_otelprof_stats, unwinds, drops map[string]uint64) stats {
	s := stats{
		taken:           uint64(c.samples_taken),
		filtered:        uint64(c.samples_filtered),
		exported:        uint64(c.samples_exported),
		pending:         uint64(c.samples_pending),
		dropped:         drops,
		complete:        uint64(c.stacks_complete),
		truncated:       uint64(c.stacks_truncated),
		broken:          uint64(c.stacks_broken),
		unwindErrors:    unwinds,
		processes:       uint64(c.processes),
		executables:     uint64(c.executables),
		processesUnseen: uint64(c.processes_unseen),
		eventsLost:      uint64(c.events_lost),
		arenaBytes:      uint64(c.arena_bytes),
		arenaLimitBytes: uint64(c.arena_limit_bytes),
		symbolBytes:     uint64(c.symbol_bytes),
		bpfRunNs:        uint64(c.bpf_run_ns),
		bpfRuns:         uint64(c.bpf_run_count),
		samplePeriodNs:  uint64(c.sample_period_ns),
		rateChanges:     uint64(c.rate_changes),
		cpuNs:           uint64(c.cpu_ns),

		memoryBytes:      uint64(c.memory_bytes),
		memoryLimitBytes: uint64(c.memory_limit_bytes),
		memoryOver:       uint64(c.memory_over),
		postponed: map[string]uint64{"names": uint64(c.names_postponed),
			"tables": uint64(c.tables_postponed)},
		evicted: map[string]uint64{"names": uint64(c.names_evicted),
			"tables": uint64(c.tables_evicted), "processes": uint64(c.processes_evicted)},

		requests:     uint64(c.requests_sent),
		requestBytes: uint64(c.bytes_sent),
	}
	return s
}
