// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package otelprofreceiver

/*
#cgo pkg-config: otelprof
#include <stdint.h>
#include <stdlib.h>
#include <otelprof/otelprof.h>

void otelprofGoLog(uintptr_t handle, int level, char *message);
int otelprofGoRequest(uintptr_t handle, void *request, size_t len, uint64_t samples);
void otelprofGoUnwindError(uintptr_t handle, char *name, uint64_t count);
void otelprofGoDrop(uintptr_t handle, char *name, uint64_t count);

static void on_log(void *userdata, int level, const char *message)
{
	otelprofGoLog((uintptr_t)userdata, level, (char *)message);
}

static int on_request(void *userdata, const void *request, size_t len, uint64_t samples)
{
	return otelprofGoRequest((uintptr_t)userdata, (void *)request, len, samples);
}

static void on_unwind_error(void *userdata, const char *name, const char *sentence,
			    uint64_t count)
{
	(void)sentence;
	otelprofGoUnwindError((uintptr_t)userdata, (char *)name, count);
}

static void on_drop(void *userdata, const char *name, const char *sentence, uint64_t count)
{
	(void)sentence;
	otelprofGoDrop((uintptr_t)userdata, (char *)name, count);
}

static int init(const struct otelprof_settings *settings, uint32_t log_level, uintptr_t handle,
		struct otelprof_error_info *why, struct otelprof **ret)
{
	struct otelprof_config config;

	otelprof_config_init(&config, sizeof(config));
	(void)otelprof_settings_get_config(settings, &config);
	config.log_level = log_level;
	config.log = on_log;
	config.log_userdata = (void *)handle;
	return otelprof_init(&config, why, ret);
}

static int set_probes(struct otelprof *p, const struct otelprof_settings *settings)
{
	size_t len = 0;
	const char *const *probes = otelprof_settings_get_probes(settings, &len);

	return len ? otelprof_set_probes(p, probes, len) : 0;
}

static int add_callback(struct otelprof *p, uintptr_t handle, uint64_t max_request_bytes)
{
	struct otelprof_callback_config config;

	otelprof_callback_config_init(&config, sizeof(config));
	config.fn = on_request;
	config.userdata = (void *)handle;
	config.max_request_bytes = max_request_bytes;
	return otelprof_exporter_callback(p, &config);
}

static int unwind_errors(struct otelprof *p, uintptr_t handle)
{
	return otelprof_unwind_errors(p, on_unwind_error, (void *)handle);
}

static int drops(struct otelprof *p, uintptr_t handle)
{
	return otelprof_drops(p, on_drop, (void *)handle);
}
*/
import "C"

import (
	"fmt"
	"runtime/cgo"
	"time"
	"unsafe"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"golang.org/x/sys/unix"
)

// profiler is a handle of the library. All its methods except wake belong to one
// goroutine.
type profiler struct {
	p       *C.struct_otelprof
	self    cgo.Handle // the handle passed to callbacks
	fd      int        // the library's descriptor: readable when there is work
	wakeFD  int        // an eventfd: readable when wake was called
	logger  *zap.Logger
	put     func(request) bool
	off     C.uint64_t        // the rule that switches sampling off; 0: none
	unwinds map[string]uint64 // filled by unwindErrors
	drops   map[string]uint64 // filled by drops
}

// openProfiler makes a handle that passes its requests to put.
func openProfiler(config *Config, put func(request) bool, logger *zap.Logger) (*profiler, error) {
	wakeFD, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	p := &profiler{wakeFD: wakeFD, logger: logger, put: put}
	p.self = cgo.NewHandle(p)
	if err := p.init(config); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (p *profiler) init(config *Config) error {
	settings, err := newSettings(config)
	if err != nil {
		return err
	}
	defer freeSettings(settings)
	why := C.struct_otelprof_error_info{size: C.sizeof_struct_otelprof_error_info}
	if r := C.init(settings, logLevel(p.logger), C.uintptr_t(p.self), &why, &p.p); r < 0 {
		return p.because("otelprof_init", &why, r)
	}
	r := C.add_callback(p.p, C.uintptr_t(p.self), C.uint64_t(config.MaxRequestBytes))
	if r < 0 {
		return p.failed("otelprof_exporter_callback", r)
	}
	if r = C.otelprof_get_fd(p.p); r < 0 {
		return p.failed("otelprof_get_fd", r)
	}
	p.fd = int(r)
	if r = C.set_probes(p.p, settings); r < 0 {
		return p.failed("otelprof_set_probes", r)
	}
	rules := settingsRules(settings)
	r = C.otelprof_set_rules(p.p, unsafe.SliceData(rules), C.size_t(len(rules)))
	if r < 0 {
		return p.failed("otelprof_set_rules", r)
	}
	return nil
}

// close frees all that openProfiler made. No callback runs after it returns.
func (p *profiler) close() {
	C.otelprof_free(p.p)
	p.p = nil
	p.self.Delete()
	_ = unix.Close(p.wakeFD)
}

func (p *profiler) start() error {
	if r := C.otelprof_start(p.p); r < 0 {
		return p.failed("otelprof_start", r)
	}
	return nil
}

// stop ends sampling; what was sampled can still be exported.
func (p *profiler) stop() error {
	if r := C.otelprof_stop(p.p); r < 0 {
		return p.failed("otelprof_stop", r)
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

// work waits up to timeout for work or wake, and does a bounded part of the work. more
// tells whether there may be more.
func (p *profiler) work(timeout time.Duration) (more bool, err error) {
	fds := []unix.PollFd{
		{Fd: int32(p.fd), Events: unix.POLLIN},
		{Fd: int32(p.wakeFD), Events: unix.POLLIN},
	}
	ms := 0
	if timeout > 0 {
		ms = int(timeout/time.Millisecond) + 1
	}
	_, err = unix.Poll(fds, ms)
	if err == unix.EINTR { // Go's scheduler sends signals
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("poll: %w", err)
	}
	if fds[0].Revents == 0 {
		return false, nil
	}
	r := C.otelprof_poll(p.p, 0)
	if r < 0 && r != -C.int(unix.EINTR) {
		return false, p.failed("otelprof_poll", r)
	}
	return r != 0, nil
}

// wake ends the waits of work: the current one and all later ones. Any goroutine may call
// it.
func (p *profiler) wake() {
	_, _ = unix.Write(p.wakeFD, []byte{1, 0, 0, 0, 0, 0, 0, 0})
}

// export closes the window; it calls put for its requests before it returns.
func (p *profiler) export() error {
	if r := C.otelprof_export(p.p); r < 0 {
		return p.failed("otelprof_export", r)
	}
	return nil
}

func (p *profiler) stats() (stats, error) {
	c := C.struct_otelprof_stats{}
	C.otelprof_stats_init(&c, C.sizeof_struct_otelprof_stats)
	if r := C.otelprof_get_stats(p.p, &c); r < 0 {
		return stats{}, p.failed("otelprof_get_stats", r)
	}
	p.unwinds = map[string]uint64{}
	if r := C.unwind_errors(p.p, C.uintptr_t(p.self)); r < 0 {
		return stats{}, p.failed("otelprof_unwind_errors", r)
	}
	p.drops = map[string]uint64{}
	if r := C.drops(p.p, C.uintptr_t(p.self)); r < 0 {
		return stats{}, p.failed("otelprof_drops", r)
	}
	return goStats(&c, p.unwinds, p.drops), nil
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

// failed returns the library's sentence for a call that returned r, on the thread of that
// call.
func (p *profiler) failed(call string, r C.int) error {
	why := C.struct_otelprof_error_info{size: C.sizeof_struct_otelprof_error_info}
	C.otelprof_last_error(p.p, &why)
	return p.because(call, &why, r)
}

// because returns the sentence in why if it belongs to r.
func (p *profiler) because(call string, why *C.struct_otelprof_error_info, r C.int) error {
	if why.code != C.int32_t(r) {
		return fmt.Errorf("%s: %s", call, C.GoString(C.otelprof_strerror(r)))
	}
	if detail := C.GoString(&why.detail[0]); detail != "" {
		p.logger.Error("libotelprof: detail", zap.String("text", detail))
	}
	return fmt.Errorf("%s: %s", call, C.GoString(&why.message[0]))
}

// logLevel is the library's level for what logger would log.
func logLevel(logger *zap.Logger) C.uint32_t {
	switch {
	case logger.Core().Enabled(zapcore.DebugLevel):
		return C.OTELPROF_LOG_DEBUG
	case logger.Core().Enabled(zapcore.InfoLevel):
		return C.OTELPROF_LOG_INFO
	default:
		return C.OTELPROF_LOG_WARNING
	}
}

func libraryVersion() string {
	return C.GoString(C.otelprof_version())
}
