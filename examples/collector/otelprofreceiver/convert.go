// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package otelprofreceiver

// #include <stdlib.h>
// #include <otelprof/otelprof.h>
import "C"

import "unsafe"

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

func cFilter(rules []Rule, m *cMemory) *C.struct_otelprof_filter {
	filter := &block[C.struct_otelprof_filter](m, 1)[0]
	C.otelprof_filter_init(filter, C.sizeof_struct_otelprof_filter)
	to := block[C.struct_otelprof_filter_rule](m, len(rules))
	for i := range rules {
		kind, number, text, _ := rules[i].condition() // cannot fail: Validate has checked it
		to[i].size = C.sizeof_struct_otelprof_filter_rule
		to[i].kind = C.uint32_t(kind)
		to[i].number = C.uint64_t(number)
		to[i].text = m.text(text)
		to[i].keep_one_in = C.uint32_t(rules[i].KeepOneIn)
		if rules[i].Action == "exclude" {
			to[i].action = C.OTELPROF_FILTER_EXCLUDE
		}
	}
	filter.rules = unsafe.SliceData(to)
	filter.rules_len = C.size_t(len(to))
	return filter
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
