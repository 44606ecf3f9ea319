// SPDX-License-Identifier: Apache-2.0

package otelprofreceiver

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
)

// load reads a configuration as the Collector does.
func load(t *testing.T, yaml string) (*Config, error) {
	t.Helper()
	retrieved, err := confmap.NewRetrievedFromYAML([]byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	conf, err := retrieved.AsConf()
	if err != nil {
		t.Fatal(err)
	}
	c := NewFactory().CreateDefaultConfig()
	if err := conf.Unmarshal(&c); err != nil {
		return nil, err
	}
	// The Collector also validates the parts of a configuration.
	got := c.(*Config)
	return got, errors.Join(got.Validate(), got.Retry.Validate())
}

// onlyRuntimes switches off all runtimes that both receivers know but those.
func onlyRuntimes(on ...string) func(*Config) {
	return func(c *Config) {
		c.Runtimes = map[string]bool{"node": false} // v8 there
		for _, name := range legacyRuntimes {
			if hasRuntime(name) {
				c.Runtimes[name] = slices.Contains(on, name)
			}
		}
	}
}

func sets(key string, value any) func(*Config) {
	return func(c *Config) { c.set(key, value) }
}

// Each key: a line of YAML, and what it must change in the default, or words of the
// error.
var keys = []struct {
	yaml  string
	want  func(*Config)
	wrong string
}{
	{yaml: "{}", want: func(*Config) {}},
	{yaml: "sample_rate_hz: 0", wrong: "sample_rate_hz is \"0\" and must be a number from 1 to 1000"},
	{yaml: "sample_rate_hz: 1001", wrong: "sample_rate_hz is \"1001\""},
	{yaml: "report_interval: 10s", want: func(c *Config) { c.ReportInterval = 10 * time.Second }},
	{yaml: "report_interval: 0", wrong: "report_interval is 0s and must be at least 100ms"},
	{yaml: "report_jitter: 0", want: func(c *Config) { c.ReportJitter = 0 }},
	{yaml: "report_jitter: 1.5", wrong: "report_jitter is 1.5 and must be 0 to 1"},
	{yaml: "report_jitter: .nan", wrong: "report_jitter is NaN"},
	{yaml: "stats_interval: 1s", want: func(c *Config) { c.StatsInterval = time.Second }},
	{yaml: "stats_interval: -1s", wrong: "stats_interval is -1s"},
	{yaml: "poll_budget_ms: 0", wrong: "poll_budget_ms is \"0\" and must be a number from 1 to 1000"},
	{yaml: "poll_budget_ms: 1001", wrong: "poll_budget_ms is \"1001\""},
	{yaml: "max_frames: 15", wrong: "max_frames is \"15\" and must be a number from 16 to 1024"},
	{yaml: "max_processes: 0", wrong: "max_processes is \"0\""},
	{yaml: "memory_budget_bytes: 1", wrong: "memory_budget_bytes is \"1\""},
	{yaml: "symbol_budget_bytes: 0", wrong: "symbol_budget_bytes is \"0\""},
	{yaml: "memory_limit_bytes: 1", wrong: "memory_limit_bytes is \"1\" and must be a number from 16777216"},
	{yaml: "ring_bytes: 100000", wrong: "ring_bytes is \"100000\" and must be a power of two"},
	{yaml: "ring_bytes: 4096", wrong: "ring_bytes is \"4096\" and must be a number from 65536"},
	{yaml: "{user_stacks: false, kernel_stacks: false}", wrong: "are both off"},
	{yaml: "runtimes: {python: false}",
		want: func(c *Config) { c.Runtimes = map[string]bool{"python": false} }},
	{yaml: "runtimes: {cobol: true}", wrong: "runtimes_off is \"cobol\" and must be one of: "},
	{yaml: "rules: [include comm:nginx, rate 199 cgroup:/kubepods.slice/a, 'exclude exe:/usr/*/x']",
		want: sets("rules", []any{"include comm:nginx", "rate 199 cgroup:/kubepods.slice/a",
			"exclude exe:/usr/*/x"})},
	{yaml: "rules: [include pid:1, keep pid:2]", wrong: "is not a rule"},
	{yaml: "rules: [rate 1001 pid:1]", wrong: "is not a rule"},
	{yaml: `rules: ["include pid:1", " "]`, wrong: "rules: entry 2 is empty"},
	{yaml: `rules: ["include pid:1\nkinds = wall"]`, wrong: "rules: a value has more than one line"},
	{yaml: "{rules: [include 1/10 all], probabilistic_threshold: 50}", want: func(c *Config) {
		c.set("rules", []any{"include 1/10 all"})
		c.ProbabilisticThreshold = 50
	}},
	{yaml: `attributes: {"": prod}`, wrong: "an entry has no key before"},
	{yaml: "environment: [POD_NAME=x]", wrong: `environment is "POD_NAME=x" and must be a name`},
	{yaml: "environment: [" + strings.Repeat("A, ", 32) + "A]",
		wrong: "environment has more than 32 names"},
	{yaml: "max_request_bytes: 1000000",
		want: func(c *Config) { c.MaxRequestBytes = 1_000_000 }},
	{yaml: "max_request_bytes: 100", wrong: "max_request_bytes is 100"},
	{yaml: "queue_bytes: 4000000", want: func(c *Config) { c.QueueBytes = 4_000_000 }},
	{yaml: "queue_bytes: 1000", wrong: "queue_bytes is 1000 and must be at least"},
	{yaml: "retry_on_failure: {enabled: false}",
		want: func(c *Config) { c.Retry.Enabled = false }},
	{yaml: "retry_on_failure: {max_elapsed_time: 1s, initial_interval: 5s}",
		wrong: "max_elapsed_time"},
	{yaml: "shutdown_timeout: 1s", want: func(c *Config) { c.ShutdownTimeout = time.Second }},
	{yaml: "shutdown_timeout: -1s", wrong: "shutdown_timeout is -1s"},
	{yaml: "error_mode: ignore", want: func(c *Config) { c.ErrorMode = "ignore" }},
	{yaml: "error_mode: IGNORE", want: func(c *Config) { c.ErrorMode = "ignore" }},
	{yaml: "error_mode: never", wrong: `error_mode is "never" and must be "propagate"`},
	{yaml: "off_cpu_min: 10us", want: sets("off_cpu_min", "10us")},
	{yaml: "{memory_limit_bytes: 64MiB, service_name: ~}", want: func(c *Config) {
		c.set("memory_limit_bytes", "64MiB")
		c.set("service_name", nil)
	}},
	{yaml: "endpoint: http://localhost:4317", wrong: "are those of an exporter"},
	{yaml: "log_level: debug", wrong: "use service::telemetry::logs::level"},
	{yaml: "threads: 1", wrong: "the receiver has its own"},
	{yaml: "sample_rate: 99", wrong: "perhaps it is sample_rate_hz"}, // there is no such key

	// Keys of the other receiver.
	{yaml: "samples_per_second: 99", want: sets("sample_rate_hz", 99)},
	{yaml: "{samples_per_second: 99, sample_rate_hz: 99}",
		wrong: "samples_per_second and sample_rate_hz are one setting"},
	{yaml: "reporter_interval: 10s",
		want: func(c *Config) { c.ReportInterval = 10 * time.Second }},
	{yaml: "reporter_jitter: 0", want: func(c *Config) { c.ReportJitter = 0 }},
	{yaml: "monitor_interval: 1s", want: func(c *Config) { c.StatsInterval = time.Second }},
	{yaml: "frame_cache_size: 16384", wrong: "use symbol_budget_bytes"},
	{yaml: "probabilistic_interval: 2m",
		want: func(c *Config) { c.ProbabilisticInterval = 2 * time.Minute }},
	{yaml: "probabilistic_interval: 1s", wrong: "probabilistic_interval is 1s"},
	{yaml: "probabilistic_threshold: 50",
		want: func(c *Config) { c.ProbabilisticThreshold = 50 }},
	{yaml: "probabilistic_threshold: 0", wrong: "probabilistic_threshold is 0"},
	{yaml: "interpreters: {python: {disabled: true}, beam: {disabled: true}}",
		want: func(c *Config) { c.Runtimes = map[string]bool{"python": false, "beam": false} }},
	{yaml: "interpreters: {cobol: {disabled: true}}", wrong: "interpreters::cobol is not known"},
	{yaml: "interpreters: {go: {disabled: true}}", wrong: "Go's frames are native frames"},
	{yaml: "interpreters: {go: {symbolization: {disabled: true}}}", wrong: "use native_names"},
	{yaml: "interpreters: {go: {labels: {disabled: true}}}", want: func(*Config) {}},
	{yaml: "interpreters: {go: {labels: {disabled: false}}}", wrong: "not there yet"},
	{yaml: "interpreters: {ruby: {disabled: true, skip_native_resume: true}}",
		wrong: "skip_native_resume: not there yet"},
	{yaml: "tracers: all", want: func(*Config) {}},
	{yaml: "tracers: python", want: onlyRuntimes("python")},
	{yaml: "tracers: go, native", want: onlyRuntimes()},
	{yaml: "tracers: cobol", wrong: `tracers: "cobol" is not known`},
	{yaml: "tracers: labels", wrong: "labels are not there yet"},
	{yaml: "clock_sync_interval: 3m", want: func(*Config) {}},
	{yaml: "clock_sync_interval: 1s", wrong: "use report_interval"},
	{yaml: "send_error_frames: false", want: func(*Config) {}},
	{yaml: "send_error_frames: true", wrong: "otelprof.unwind.errors"},
	{yaml: "send_idle_frames: true", want: sets("idle_stacks", true)},
	{yaml: "filter_min_process_age: 5s", want: sets("rules", []any{"include age:5000ms"})},
	{yaml: "{filter_min_process_age: 5s, rules: [exclude uid:0], rule: exclude uid:1}",
		want: sets("rules", []any{"include age:5000ms", "exclude uid:1", "exclude uid:0"})},
	{yaml: "{filter_min_process_age: 5s, rules: [include uid:0]}", wrong: "include age:"},
	{yaml: "{filter_min_process_age: 5s, rules: include uid:0}", wrong: "include age:"},
	{yaml: "filter_min_process_age: -5s", wrong: "must not be negative"},
	{yaml: "verbose_mode: false", want: func(*Config) {}},
	{yaml: "verbose_mode: true", wrong: "service::telemetry::logs::level"},
	{yaml: "off_cpu_threshold: 0", want: func(*Config) {}},
	{yaml: "off_cpu_threshold: 0.1", want: sets("kinds", []any{"cpu", "off_cpu"})},
	{yaml: "{off_cpu_threshold: 1, kinds: [off_cpu, locks]}", want: sets("kinds", []any{"off_cpu", "locks", "off_cpu"})},
	{yaml: "off_cpu_threshold: 1.5", wrong: "off_cpu_threshold is 1.5 and must be 0 to 1"},
	{yaml: "kinds: [allocations]", wrong: `kinds is "allocations" and must be one of: cpu, `},
	{yaml: "off_cpu_samples: 0", wrong: "off_cpu_samples is \"0\" and must be a number from 1 to 100000"},
	{yaml: "off_cpu_min: -1s", wrong: "off_cpu_min_ns is \"-1s\" and must be a number"},
	{yaml: `include_env_vars: ""`, want: func(*Config) {}},
	{yaml: `include_env_vars: "POD_NAME, NODE"`, want: sets("environment", []any{"POD_NAME", "NODE"})},
	{yaml: `include_env_vars: "A,,B"`, wrong: "environment: entry 2 is empty"},
	{yaml: "load_probe: false", want: func(*Config) {}},
	{yaml: "load_probe: true", wrong: "load_probe: not there yet"},
	{yaml: "probe_links: []", want: func(*Config) {}},
	{yaml: `probe_links: ["uprobe:/bin/sh:main"]`, want: sets("probes", []any{"uprobe:/bin/sh:main"})},
	{yaml: "map_scale_factor: 0", want: func(*Config) {}},
	{yaml: "map_scale_factor: 2", wrong: "use memory_budget_bytes and max_processes"},
	{yaml: "bpf_verifier_log_level: 0", want: func(*Config) {}},
	{yaml: "bpf_verifier_log_level: 1", wrong: "the verifier's words"},
	{yaml: "no_kernel_version_check: true", want: func(*Config) {}},
	{yaml: "max_grpc_retries: 5", wrong: "use retry_on_failure"},
	{yaml: "max_rpc_msg_size: 33554432", want: func(c *Config) {
		c.MaxRequestBytes = 32 << 20
		c.QueueBytes = 32 << 20
	}},
	{yaml: "max_rpc_msg_size: -1", wrong: "max_rpc_msg_size is -1"},
	{yaml: "bpf_fs_root: /sys/fs/bpf/", want: func(*Config) {}},
	{yaml: "obi_process_ctx: true", wrong: "obi_process_ctx: not there yet"},
	{yaml: "obi_process_ctx: false", want: func(*Config) {}},
	{yaml: "pid_namespace_translation: true", wrong: "pid_namespace_translation: not there yet"},
	{yaml: `pin_cpu_ids: "0-3"`, wrong: "pin_cpu_ids: not there yet"},
	{yaml: `pin_cpu_ids: ""`, want: func(*Config) {}},
	{yaml: "probes: []", want: func(*Config) {}},
	{yaml: "probes: [{type: kprobe, symbol: vfs_open}]", want: sets("probes", []any{"kprobe:vfs_open"})},
	{yaml: "{probes: [{type: kprobe, mode: uretprobe, symbol: f, target: /bin/sh}], kinds: [probes]}",
		want: func(c *Config) {
			c.set("probes", []any{"uretprobe:/bin/sh:f"})
			c.set("kinds", []any{"probes"})
		}},
	{yaml: "probes: [{mode: uprobe, symbol: f}]", wrong: "uprobe of f has no target"},
	{yaml: "probes: [{mode: kprobe}]", wrong: "a probe has no symbol"},
	{yaml: "probes: [{mode: xprobe, symbol: f}]", wrong: `mode "xprobe" is not known`},
	{yaml: "cpu_budget_permille: -1", wrong: "cpu_budget_permille is \"-1\" and must be a number from 0 to 1000000"},
	{yaml: "probe_samples: 0", wrong: "probe_samples is \"0\" and must be a number from 1 to 1000000"},
	{yaml: "{probes: [{type: kprobe}], load_probe: true}", wrong: "load_probe: not there yet"},
}

func TestKeys(t *testing.T) {
	for _, k := range keys {
		t.Run(k.yaml, func(t *testing.T) {
			got, err := load(t, k.yaml)
			if k.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), k.wrong) {
					t.Fatalf("the error is %v and must hold %q", err, k.wrong)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := defaultConfig()
			k.want(want)
			got.notes = nil
			if len(got.Settings) == 0 {
				got.Settings = nil
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("got  %+v\nwant %+v", got, want)
			}
		})
	}
}

// Every key of both receivers must be in the table above.
func TestKeysAreAllTested(t *testing.T) {
	all := legacyKeys()
	own := reflect.TypeFor[Config]()
	for i := range own.NumField() {
		if key := own.Field(i).Tag.Get("mapstructure"); key != "" && key[0] != ',' {
			all = append(all, key)
		}
	}
	for _, key := range all {
		if !slices.ContainsFunc(keys, func(k struct {
			yaml  string
			want  func(*Config)
			wrong string
		}) bool {
			return strings.Contains(" {"+k.yaml, " "+key+":") ||
				strings.Contains(" {"+k.yaml, "{"+key+":")
		}) {
			t.Errorf("%s is not tested", key)
		}
	}
}

func TestDefaults(t *testing.T) {
	if err := componenttest.CheckConfigStruct(NewFactory().CreateDefaultConfig()); err != nil {
		t.Error(err)
	}
	if err := defaultConfig().Validate(); err != nil {
		t.Error(err)
	}
}
