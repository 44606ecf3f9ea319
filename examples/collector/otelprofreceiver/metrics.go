// SPDX-License-Identifier: Apache-2.0

package otelprofreceiver

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// metrics are the Collector's own metrics of one receiver, made from the last stats
// whenever the Collector reads them.
type metrics struct {
	registration metric.Registration
}

// instrument is a metric with one value.
type instrument struct {
	name, unit, text string
	kind             int
	value            func(*stats) uint64
}

const (
	counter = iota // only grows
	level          // goes up and down
)

var instruments = []instrument{
	{"otelprof.samples.taken", "{sample}", "Samples the kernel took", counter,
		func(s *stats) uint64 { return s.taken }},
	{"otelprof.samples.filtered", "{sample}", "Samples left out by rules or by rates and limits, and idle ones",
		counter, func(s *stats) uint64 { return s.filtered }},
	{"otelprof.samples.exported", "{sample}", "Samples the pipeline took", counter,
		func(s *stats) uint64 { return s.exported }},
	{"otelprof.samples.pending", "{sample}", "Samples on their way to the pipeline", level,
		func(s *stats) uint64 { return s.pending }},
	{"otelprof.processes", "{process}", "Processes known", level,
		func(s *stats) uint64 { return s.processes }},
	{"otelprof.processes.unseen", "{process}", "Processes not followed: max_processes reached",
		counter, func(s *stats) uint64 { return s.processesUnseen }},
	{"otelprof.executables", "{executable}", "Executables known", level,
		func(s *stats) uint64 { return s.executables }},
	{"otelprof.events.lost", "{event}", "Process events the kernel dropped", counter,
		func(s *stats) uint64 { return s.eventsLost }},
	{"otelprof.arena.usage", "By", "Kernel memory for tables, in use", level,
		func(s *stats) uint64 { return s.arenaBytes }},
	{"otelprof.arena.limit", "By", "Kernel memory for tables, at most", level,
		func(s *stats) uint64 { return s.arenaLimitBytes }},
	{"otelprof.symbols.usage", "By", "User memory for names", level,
		func(s *stats) uint64 { return s.symbolBytes }},
	{"otelprof.queue.usage", "By", "Requests that wait for the pipeline", level,
		func(s *stats) uint64 { return s.queueBytes }},
	{"otelprof.bpf.time", "ns", "Time in the sampling program, where the kernel counts it",
		counter, func(s *stats) uint64 { return s.bpfRunNs }},
	{"otelprof.bpf.runs", "{run}", "Runs of the sampling program, where the kernel counts them",
		counter, func(s *stats) uint64 { return s.bpfRuns }},
	{"otelprof.period", "ns", "Period of samples that no rule gives a rate; a budget makes it longer",
		level, func(s *stats) uint64 { return s.samplePeriodNs }},
	{"otelprof.rate.changes", "{change}", "Changes of the rate, to stay within cpu_budget_permille",
		counter, func(s *stats) uint64 { return s.rateChanges }},
	{"otelprof.cpu.time", "ns", "CPU time of profiling, with a cpu_budget_permille",
		counter, func(s *stats) uint64 { return s.cpuNs }},
	{"otelprof.memory.usage", "By", "Memory of the kernel's maps and of what is kept", level,
		func(s *stats) uint64 { return s.memoryBytes }},
	{"otelprof.memory.limit", "By", "memory_limit_bytes; 0: none", level,
		func(s *stats) uint64 { return s.memoryLimitBytes }},
	{"otelprof.memory.over", "{look}", "Looks at which more was used", counter,
		func(s *stats) uint64 { return s.memoryOver }},
	{"otelprof.requests", "{request}", "Requests the library made", counter,
		func(s *stats) uint64 { return s.requests }},
	{"otelprof.requests.size", "By", "Bytes of these requests", counter,
		func(s *stats) uint64 { return s.requestBytes }},
}

// family is a metric with one value for each value of an attribute.
type family struct {
	name, unit, text string
	attribute        string
	values           func(*stats) map[string]uint64
}

var families = []family{
	{"otelprof.samples.dropped", "{sample}", "Samples lost", "reason",
		func(s *stats) map[string]uint64 { return s.dropped }},
	{"otelprof.stacks", "{stack}", "Stacks by how they end", "end",
		func(s *stats) map[string]uint64 {
			return map[string]uint64{"complete": s.complete, "truncated": s.truncated,
				"broken": s.broken}
		}},
	{"otelprof.postponed", "{item}", "Names of frames and tables that budgets delay",
		"what", func(s *stats) map[string]uint64 { return s.postponed }},
	{"otelprof.evicted", "{item}", "Names of files, tables and processes dropped to free memory",
		"what", func(s *stats) map[string]uint64 { return s.evicted }},
	{"otelprof.unwind.errors", "{stack}", "Stacks that an error ended", "error",
		func(s *stats) map[string]uint64 { return s.unwindErrors }},
}

func newMetrics(provider metric.MeterProvider, snapshot func() stats) (*metrics, error) {
	meter := provider.Meter(scopeName)
	var errs []error
	var all []metric.Observable
	single := make([]metric.Int64Observable, len(instruments))
	for i, in := range instruments {
		var o metric.Int64Observable
		var err error
		if in.kind == counter {
			o, err = meter.Int64ObservableCounter(in.name, metric.WithUnit(in.unit),
				metric.WithDescription(in.text))
		} else {
			o, err = meter.Int64ObservableUpDownCounter(in.name, metric.WithUnit(in.unit),
				metric.WithDescription(in.text))
		}
		single[i] = o
		all, errs = append(all, o), append(errs, err)
	}
	many := make([]metric.Int64Observable, len(families))
	for i, f := range families {
		o, err := meter.Int64ObservableCounter(f.name, metric.WithUnit(f.unit),
			metric.WithDescription(f.text))
		many[i] = o
		all, errs = append(all, o), append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	registration, err := meter.RegisterCallback(
		func(_ context.Context, observer metric.Observer) error {
			s := snapshot()
			for i := range instruments {
				observer.ObserveInt64(single[i], int64(instruments[i].value(&s)))
			}
			for i, f := range families {
				for name, n := range f.values(&s) {
					observer.ObserveInt64(many[i], int64(n),
						metric.WithAttributes(attribute.String(f.attribute, name)))
				}
			}
			return nil
		}, all...)
	return &metrics{registration: registration}, err
}

func (m *metrics) close() error {
	return m.registration.Unregister()
}
