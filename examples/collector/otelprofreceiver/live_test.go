// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package otelprofreceiver

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.opentelemetry.io/collector/receiver/xreceiver"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// needLive skips the test if nothing can be profiled; OTELPROF_LIVE=1 makes that a
// failure.
func needLive(t *testing.T) {
	t.Helper()
	p, err := openProfiler(defaultConfig(), func(request) bool { return true },
		componenttest.NewNopTelemetrySettings().Logger)
	if err == nil {
		p.close()
		return
	}
	if os.Getenv("OTELPROF_LIVE") == "1" {
		t.Fatal(err)
	}
	t.Skip("cannot profile here: ", err)
}

func create(t *testing.T, config *Config, settings receiver.Settings, next *pipeline) xreceiver.Profiles {
	t.Helper()
	r, err := NewFactory().(xreceiver.Factory).CreateProfiles(context.Background(), settings,
		config, next)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// burnElsewhere starts a process that uses CPU time until the test ends.
func burnElsewhere(t *testing.T) {
	t.Helper()
	other := exec.Command("sh", "-c", "while :; do :; done")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = other.Process.Kill()
		_ = other.Wait()
	})
}

// burn uses CPU time of this process.
func burn(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		for i := range 1000 {
			_ = i * i
		}
	}
}

func TestProfilesItself(t *testing.T) {
	needLive(t)
	config := defaultConfig()
	config.set("sample_rate_hz", 199)
	config.ReportInterval = 200 * time.Millisecond
	config.StatsInterval = 100 * time.Millisecond
	config.set("attributes", map[string]any{"a": "", "test.key": "test value"})
	config.add("rules", fmt.Sprintf("include pid:%d", os.Getpid()))
	reader := sdk.NewManualReader()
	settings := receivertest.NewNopSettings(componentType)
	settings.MeterProvider = sdk.NewMeterProvider(sdk.WithReader(reader))
	next, h := &pipeline{}, &host{}
	r := create(t, config, settings, next)
	if err := r.Start(context.Background(), h); err != nil {
		t.Fatal(err)
	}
	burnElsewhere(t) // otherwise there might be nothing to leave out
	burn(time.Second)
	values := collect(t, reader)
	// a busy machine needs longer
	for end := time.Now().Add(time.Minute); values["otelprof.requests"] < 2 &&
		time.Now().Before(end); {
		burn(100 * time.Millisecond)
		values = collect(t, reader)
	}
	if err := r.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	if len(next.got) < 2 {
		t.Fatalf("%d requests in a second of five windows", len(next.got))
	}
	attributes := next.got[0].ResourceProfiles().At(0).Resource().Attributes()
	for key, want := range map[string]string{"a": "", "test.key": "test value"} {
		if value, ok := attributes.Get(key); !ok || value.Str() != want {
			t.Errorf("resource attribute %q is %q", key, value.AsString())
		}
	}
	pid, ok := attributes.Get("process.pid")
	if !ok || pid.Int() != int64(os.Getpid()) {
		t.Error("not the process of the rules: ", pid.AsString())
	}
	checkMetrics(t, values)
	want := []componentstatus.Status{componentstatus.StatusOK}
	if !reflect.DeepEqual(h.saw(), want) {
		t.Errorf("status: %v", h.saw())
	}
	if after := collect(t, reader); len(after) != 0 {
		t.Errorf("metrics after Shutdown: %v", after)
	}
}

// collect returns every value of the receiver's metrics, by name and attribute.
func collect(t *testing.T, reader *sdk.ManualReader) map[string]int64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &all); err != nil {
		t.Fatal(err)
	}
	values := map[string]int64{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			for _, point := range m.Data.(metricdata.Sum[int64]).DataPoints {
				name := m.Name
				for _, a := range point.Attributes.ToSlice() {
					name += "/" + a.Value.AsString()
				}
				values[name] = point.Value
			}
		}
	}
	return values
}

func checkMetrics(t *testing.T, values map[string]int64) {
	t.Helper()
	sum := values["otelprof.samples.exported"] + values["otelprof.samples.filtered"] +
		values["otelprof.samples.pending"]
	for name, n := range values {
		if strings.HasPrefix(name, "otelprof.samples.dropped/") {
			sum += n
		}
	}
	if values["otelprof.samples.taken"] != sum {
		t.Errorf("taken %d, sum of its parts %d", values["otelprof.samples.taken"], sum)
	}
	for _, name := range []string{"otelprof.samples.taken", "otelprof.samples.exported",
		"otelprof.samples.filtered", "otelprof.processes", "otelprof.arena.usage",
		"otelprof.stacks/complete", "otelprof.requests"} {
		if values[name] <= 0 {
			t.Errorf("%s is %d", name, values[name])
		}
	}
	if limit := values["otelprof.arena.limit"]; limit != 64<<20 {
		t.Errorf("otelprof.arena.limit is %d", limit)
	}
	if _, ok := values["otelprof.samples.dropped/ring"]; !ok {
		t.Error("otelprof.samples.dropped has no reason \"ring\"")
	}
}

func TestStartFails(t *testing.T) {
	for _, mode := range []string{errorPropagate, errorIgnore} {
		config := defaultConfig()
		config.ErrorMode = mode
		config.set("procfs_root", "/nowhere")
		h := &host{}
		r := create(t, config, receivertest.NewNopSettings(componentType), &pipeline{})
		err := r.Start(context.Background(), h)
		if mode == errorPropagate {
			if err == nil || !strings.Contains(err.Error(), "cannot profile: otelprof_") {
				t.Errorf("%s: %v", mode, err)
			}
		} else {
			want := []componentstatus.Status{componentstatus.StatusPermanentError}
			if err != nil || !reflect.DeepEqual(h.saw(), want) {
				t.Errorf("%s: %v, status %v", mode, err, h.saw())
			}
		}
		if err := r.Shutdown(context.Background()); err != nil {
			t.Errorf("%s: Shutdown: %v", mode, err)
		}
	}
}

func TestShutdownWithoutStart(t *testing.T) {
	r := create(t, defaultConfig(), receivertest.NewNopSettings(componentType), &pipeline{})
	if err := r.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
}

// held is what the kernel and the C library hold for this process.
type held struct {
	threads, fds, bpf int
	rssKB             int
}

func (h held) String() string {
	return fmt.Sprintf("%d threads, %d descriptors, %d of BPF, %d KB", h.threads, h.fds, h.bpf,
		h.rssKB)
}

func entries(t *testing.T, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, len(list))
	for i, e := range list {
		names[i] = e.Name()
	}
	return names
}

func holds(t *testing.T) held {
	t.Helper()
	runtime.GC()
	h := held{threads: len(entries(t, "/proc/self/task"))}
	for _, fd := range entries(t, "/proc/self/fd") {
		link, err := os.Readlink(filepath.Join("/proc/self/fd", fd))
		if err != nil {
			continue // the descriptor of the directory itself
		}
		h.fds++
		if strings.Contains(link, "bpf") {
			h.bpf++
		}
	}
	status, err := os.Open("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	defer status.Close()
	for lines := bufio.NewScanner(status); lines.Scan(); {
		_, _ = fmt.Sscanf(lines.Text(), "VmRSS: %d kB", &h.rssKB)
	}
	return h
}

// oneArena runs the test in a process whose C library has one heap. Go moves between
// threads, and a heap for each of them would grow for a while without a leak. It returns
// true in that process.
func oneArena(t *testing.T) bool {
	t.Helper()
	const variable = "MALLOC_ARENA_MAX"
	if os.Getenv(variable) == "1" {
		return true
	}
	command := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
	command.Env = append(os.Environ(), variable+"=1")
	out, err := command.CombinedOutput()
	if err != nil {
		t.Error(err)
	}
	t.Logf("%s", out)
	return false
}

func TestManyCycles(t *testing.T) {
	if testing.Short() {
		t.Skip("-short")
	}
	needLive(t)
	if !oneArena(t) {
		return
	}
	const cycles, warm = 100, 20
	config := defaultConfig()
	config.set("sample_rate_hz", 199)
	config.ReportInterval = 100 * time.Millisecond
	settings := receivertest.NewNopSettings(componentType)
	var before held
	samples := 0
	for i := range cycles + warm {
		if i == warm { // allocators and Go's pool of threads are warm
			before = holds(t)
		}
		next := &pipeline{}
		r := create(t, config, settings, next)
		if err := r.Start(context.Background(), &host{}); err != nil {
			t.Fatalf("cycle %d: %v", i, err)
		}
		burn(30 * time.Millisecond)
		if err := r.Shutdown(context.Background()); err != nil {
			t.Fatalf("cycle %d: %v", i, err)
		}
		for _, p := range next.got {
			samples += p.SampleCount()
		}
	}
	after := holds(t)
	t.Logf("before %v; after %d cycles %v; %d samples", before, cycles, after, samples)
	if samples < cycles {
		t.Errorf("%d samples in %d cycles", samples, cycles+warm)
	}
	if after.fds > before.fds || after.bpf > 0 {
		t.Error("descriptors are left open")
	}
	if after.threads > before.threads+4 { // Go keeps threads and makes a few
		t.Error("threads are left")
	}
	// Less than a tenth of one handle per cycle; -asan finds smaller leaks.
	if after.rssKB > before.rssKB+10_000 {
		t.Error("memory grows")
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(maps), "libgrpc") {
		t.Error("gRPC's C library was loaded")
	}
	if strings.Contains(string(maps), "bpf-map") {
		t.Error("maps of the kernel are still mapped, and so alive")
	}
}

// needCgroup2 skips where cgroup v2 is not mounted.
func needCgroup2(t *testing.T) {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(mounts), "\n") {
		if words := strings.Fields(line); len(words) > 2 && words[2] == "cgroup2" {
			return
		}
	}
	t.Skip("cgroup v2 is not mounted")
}

// periodsOf are the periods of all profiles of process pid in a request.
func periodsOf(t *testing.T, r request, pid int) (periods []int64) {
	e := pprofileotlp.NewExportRequest()
	if err := e.UnmarshalProto(r.bytes); err != nil {
		t.Fatal(err)
	}
	for _, resource := range e.Profiles().ResourceProfiles().All() {
		id, ok := resource.Resource().Attributes().Get("process.pid")
		if !ok || id.Int() != int64(pid) {
			continue
		}
		for _, scope := range resource.ScopeProfiles().All() {
			for _, profile := range scope.Profiles().All() {
				periods = append(periods, profile.Period())
			}
		}
	}
	return periods
}

// Rules have a rate per target; one waits for its control group, and the last one decides.
func TestRules(t *testing.T) {
	needLive(t)
	needCgroup2(t)
	group := fmt.Sprintf("otelprof-receiver-%d", os.Getpid())
	config := defaultConfig()
	config.set("sample_rate_hz", 19)
	config.add("rules", fmt.Sprintf("rate 199 pid:%d", os.Getpid()),
		"rate 499 cgroup:/"+group, fmt.Sprintf("rate 99 pid:%d", os.Getpid()))
	periods := map[int64]int{}
	p, err := openProfiler(config, func(r request) bool {
		for _, period := range periodsOf(t, r, os.Getpid()) {
			periods[period]++
		}
		return true
	}, componenttest.NewNopTelemetrySettings().Logger)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	if err := p.start(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(20 * time.Second); len(periods) == 0 && time.Now().Before(end); {
		burn(200 * time.Millisecond)
		if _, err := p.work(0); err != nil {
			t.Fatal(err)
		}
		if err := p.export(); err != nil {
			t.Fatal(err)
		}
	}
	if len(periods) != 1 || periods[1000000000/99] == 0 {
		t.Error("periods of this process: ", periods)
	}
}

// With a probability of 50 in 100, the dice decide which intervals are sampled.
func TestDiceDecide(t *testing.T) {
	needLive(t)
	config := defaultConfig()
	config.set("sample_rate_hz", 499)
	config.ProbabilisticThreshold = 50
	config.set("idle_stacks", true) // idle CPUs would count as filtered
	p, err := openProfiler(config, func(request) bool { return true },
		componenttest.NewNopTelemetrySettings().Logger)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	s := &session{config: config, profiler: p}
	if err := p.start(); err != nil {
		t.Fatal(err)
	}
	// sampled returns how many samples were kept and left out, of those that a busy
	// CPU makes.
	sampled := func(die int) (kept, left uint64) {
		if err := s.rolled(die); err != nil {
			t.Fatal(err)
		}
		before, err := p.stats()
		if err != nil {
			t.Fatal(err)
		}
		for end := before; ; {
			burn(50 * time.Millisecond)
			if end, err = p.stats(); err != nil {
				t.Fatal(err)
			}
			if end.taken-before.taken >= 50 {
				left = end.filtered - before.filtered
				return end.taken - before.taken - left, left
			}
		}
	}
	if kept, left := sampled(49); kept == 0 || left > kept {
		t.Errorf("a die of 49: %d kept, %d filtered", kept, left)
	}
	if kept, left := sampled(50); kept > 5 { // some are from the moment of the change
		t.Errorf("a die of 50: %d kept, %d filtered", kept, left)
	}
	if kept, left := sampled(0); kept == 0 || left > kept {
		t.Errorf("a die of 0: %d kept, %d filtered", kept, left)
	}
}
