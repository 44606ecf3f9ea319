// SPDX-License-Identifier: Apache-2.0

package otelprofreceiver

// stats are the library's counters; after addQueue they are those of library and queue
// together. At every moment taken = exported + filtered + pending + the sum of dropped.
type stats struct {
	taken, filtered, exported, pending uint64

	dropped map[string]uint64 // by reason

	complete, truncated, broken uint64 // stacks, by how they end

	unwindErrors map[string]uint64 // by name; only errors that happened

	processes, executables, processesUnseen, eventsLost uint64

	arenaBytes, arenaLimitBytes, symbolBytes uint64

	bpfRunNs, bpfRuns uint64

	samplePeriodNs, rateChanges, cpuNs uint64

	memoryBytes, memoryLimitBytes, memoryOver uint64

	postponed, evicted map[string]uint64 // by what: names, tables, processes

	requests, requestBytes uint64

	queueBytes uint64

	library counted // before the queue was added
}

// counted is what the library says of samples that it has handed over.
type counted struct {
	pending uint64
	dropped map[string]uint64
}

// addQueue adds what became of the requests that the library handed over.
func (s *stats) addQueue(c counts) {
	s.library = counted{pending: s.pending, dropped: s.dropped}
	s.setQueue(c)
}

// setQueue replaces the queue's counts by newer ones.
func (s *stats) setQueue(c counts) {
	s.exported = c.delivered
	s.pending = s.library.pending + c.pending
	s.queueBytes = c.bytes
	dropped := make(map[string]uint64, len(s.library.dropped))
	for reason, n := range s.library.dropped {
		dropped[reason] = n
	}
	for reason, n := range c.lost {
		dropped[reason] += n
	}
	s.dropped = dropped
}
