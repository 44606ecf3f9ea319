// SPDX-License-Identifier: Apache-2.0

package otelprofreceiver

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/collector/confmap"
)

// The keys of the OpenTelemetry eBPF profiler's receiver (v0.0.202601 to v0.0.202633).
// Each has the same meaning here, or is refused with the reason unless its value requests
// nothing.
type legacyConfig struct {
	ReporterInterval        *time.Duration               `mapstructure:"reporter_interval"`
	ReporterJitter          *float64                     `mapstructure:"reporter_jitter"`
	MonitorInterval         *time.Duration               `mapstructure:"monitor_interval"`
	SamplesPerSecond        *int                         `mapstructure:"samples_per_second"`
	FrameCacheSize          *uint                        `mapstructure:"frame_cache_size"`
	Interpreters            map[string]legacyInterpreter `mapstructure:"interpreters"`
	Tracers                 *string                      `mapstructure:"tracers"`
	ClockSyncInterval       *time.Duration               `mapstructure:"clock_sync_interval"`
	SendErrorFrames         *bool                        `mapstructure:"send_error_frames"`
	SendIdleFrames          *bool                        `mapstructure:"send_idle_frames"`
	FilterMinProcessAge     *time.Duration               `mapstructure:"filter_min_process_age"`
	VerboseMode             *bool                        `mapstructure:"verbose_mode"`
	OffCPUThreshold         *float64                     `mapstructure:"off_cpu_threshold"`
	IncludeEnvVars          *string                      `mapstructure:"include_env_vars"`
	LoadProbe               *bool                        `mapstructure:"load_probe"`
	ProbeLinks              []string                     `mapstructure:"probe_links"`
	MapScaleFactor          *uint                        `mapstructure:"map_scale_factor"`
	BPFVerifierLogLevel     *uint                        `mapstructure:"bpf_verifier_log_level"`
	NoKernelVersionCheck    *bool                        `mapstructure:"no_kernel_version_check"`
	MaxGRPCRetries          *uint32                      `mapstructure:"max_grpc_retries"`
	MaxRPCMsgSize           *int64                       `mapstructure:"max_rpc_msg_size"`
	BPFFSRoot               *string                      `mapstructure:"bpf_fs_root"`
	OBIProcessCtx           *bool                        `mapstructure:"obi_process_ctx"`
	PIDNamespaceTranslation *bool                        `mapstructure:"pid_namespace_translation"`
	PinCPUIDs               *string                      `mapstructure:"pin_cpu_ids"`
	Probes                  []any                        `mapstructure:"probes"`
}

type legacyInterpreter struct {
	Disabled         bool          `mapstructure:"disabled"`
	Labels           *legacySwitch `mapstructure:"labels"`
	Symbolization    *legacySwitch `mapstructure:"symbolization"`
	SkipNativeResume bool          `mapstructure:"skip_native_resume"`
}

type legacySwitch struct {
	Disabled bool `mapstructure:"disabled"`
}

// legacyTwins maps a key of the other receiver to the key of ours that it sets.
var legacyTwins = map[string]string{
	"reporter_interval":  "report_interval",
	"reporter_jitter":    "report_jitter",
	"monitor_interval":   "stats_interval",
	"samples_per_second": "sample_rate_hz",
	"interpreters":       "runtimes",
	"tracers":            "runtimes",
	"send_idle_frames":   "idle_stacks",
	"include_env_vars":   "environment",
	"max_rpc_msg_size":   "max_request_bytes",
}

// legacyRuntimes are the interpreters that the other receiver knows; this one lacks some.
var legacyRuntimes = []string{"python", "perl", "php", "hotspot", "ruby", "v8", "dotnet", "go",
	"beam", "luajit"}

// legacyKeys are the keys of legacyConfig.
func legacyKeys() []string {
	t := reflect.TypeFor[legacyConfig]()
	keys := make([]string, t.NumField())
	for i := range keys {
		keys[i] = t.Field(i).Tag.Get("mapstructure")
	}
	return keys
}

// Unmarshal reads our keys, and the other receiver's keys into ours.
func (c *Config) Unmarshal(conf *confmap.Conf) error {
	own, theirs := map[string]any{}, map[string]any{}
	keys := legacyKeys()
	for key, value := range conf.ToStringMap() {
		if slices.Contains(keys, key) {
			theirs[key] = value
			continue
		}
		own[key] = value
	}
	for key, twin := range legacyTwins {
		_, a := theirs[key]
		if _, b := own[twin]; a && b {
			return fmt.Errorf("%s and %s are one setting: keep %s", key, twin, twin)
		}
	}
	type plain Config // has no Unmarshal, which would recurse
	if err := confmap.NewFromStringMap(own).Unmarshal((*plain)(c)); err != nil {
		return err
	}
	c.ErrorMode = strings.ToLower(c.ErrorMode)
	legacy := legacyConfig{}
	if err := confmap.NewFromStringMap(theirs).Unmarshal(&legacy); err != nil {
		return err
	}
	return legacy.apply(c)
}

// set stores a value if it was given.
func set[T any](to *T, value *T) {
	if value != nil {
		*to = *value
	}
}

// given tells whether a key was set to anything but the zero value.
func given[T comparable](value *T) bool {
	var zero T
	return value != nil && *value != zero
}

func (l *legacyConfig) apply(c *Config) error {
	set(&c.ReportInterval, l.ReporterInterval)
	set(&c.ReportJitter, l.ReporterJitter)
	set(&c.StatsInterval, l.MonitorInterval)
	if l.SamplesPerSecond != nil {
		c.set("sample_rate_hz", *l.SamplesPerSecond)
	}
	if l.SendIdleFrames != nil {
		c.set("idle_stacks", *l.SendIdleFrames)
	}
	if l.MaxRPCMsgSize != nil {
		if *l.MaxRPCMsgSize < 0 || *l.MaxRPCMsgSize > math.MaxInt {
			return fmt.Errorf("max_rpc_msg_size is %d", *l.MaxRPCMsgSize)
		}
		c.MaxRequestBytes = uint64(*l.MaxRPCMsgSize)
		c.QueueBytes = max(c.QueueBytes, int(*l.MaxRPCMsgSize))
	}
	if given(l.IncludeEnvVars) {
		for name := range strings.SplitSeq(*l.IncludeEnvVars, ",") {
			c.add("environment", strings.TrimSpace(name))
		}
	}
	return errors.Join(l.refused(), l.offCPU(c), l.clock(c), l.age(c), l.interpreters(c), l.tracers(c),
		l.probes(c))
}

// refused reports each key that requests something missing here, and what to do instead.
func (l *legacyConfig) refused() error {
	const notYet = "not there yet in this receiver: remove it"
	var errs []error
	refuse := func(key string, refused bool, why string) {
		if refused {
			errs = append(errs, fmt.Errorf("%s: %s", key, why))
		}
	}
	refuse("frame_cache_size", l.FrameCacheSize != nil,
		"names are kept within bytes here: use symbol_budget_bytes")
	refuse("send_error_frames", given(l.SendErrorFrames),
		"how stacks end is in the metric otelprof.unwind.errors: remove it")
	refuse("verbose_mode", given(l.VerboseMode),
		"the Collector's own level decides: use service::telemetry::logs::level")
	refuse("load_probe", given(l.LoadProbe), notYet)
	refuse("map_scale_factor", given(l.MapScaleFactor),
		"tables grow on demand here: use memory_budget_bytes and max_processes")
	refuse("bpf_verifier_log_level", given(l.BPFVerifierLogLevel),
		"the verifier's words are always part of the error: remove it")
	refuse("max_grpc_retries", l.MaxGRPCRetries != nil,
		"use retry_on_failure, and sending_queue of the exporter")
	refuse("obi_process_ctx", given(l.OBIProcessCtx), notYet)
	refuse("pid_namespace_translation", given(l.PIDNamespaceTranslation), notYet)
	refuse("pin_cpu_ids", given(l.PinCPUIDs), notYet)
	return errors.Join(errs...)
}

// offCPU turns off_cpu_threshold into a kind; 0 means off. Here the length of an interval
// decides whether it is sampled, and the values also account for intervals that are not.
func (l *legacyConfig) offCPU(c *Config) error {
	if !given(l.OffCPUThreshold) {
		return nil
	}
	if !(*l.OffCPUThreshold > 0 && *l.OffCPUThreshold <= 1) {
		return fmt.Errorf("off_cpu_threshold is %v and must be 0 to 1", *l.OffCPUThreshold)
	}
	c.notes = append(c.notes, "off_cpu_threshold: intervals are taken by their length, "+
		"at most off_cpu_samples a second, and the values are estimates for all")
	if c.Settings["kinds"] == nil {
		c.add("kinds", "cpu")
	}
	c.add("kinds", "off_cpu")
	return nil
}

// probeKeys are the keys of an element of probes.
var probeKeys = []string{"type", "mode", "symbol", "target"}

// probeSpec converts an element of probes to a specification of otelprof_set_probes().
func probeSpec(probe map[string]any) (string, error) {
	text := map[string]string{"type": "kprobe", "mode": "kprobe"}
	for key, value := range probe {
		s, ok := value.(string)
		if !ok || !slices.Contains(probeKeys, key) {
			return "", fmt.Errorf("probes: %s: %v is not known", key, value)
		}
		text[key] = s
	}
	if text["type"] != "kprobe" {
		return "", fmt.Errorf("probes: type %q is not known; there is kprobe", text["type"])
	}
	if text["symbol"] == "" {
		return "", errors.New("probes: a probe has no symbol")
	}
	mode := strings.ToLower(text["mode"])
	switch mode {
	case "kprobe", "kretprobe":
		return mode + ":" + text["symbol"], nil
	case "uprobe", "uretprobe":
		if text["target"] == "" {
			return "", fmt.Errorf("probes: %s of %s has no target", mode, text["symbol"])
		}
		return mode + ":" + text["target"] + ":" + text["symbol"], nil
	}
	return "", fmt.Errorf("probes: mode %q is not known", text["mode"])
}

// probes converts probe_links, which are specifications, and probes, which may be.
func (l *legacyConfig) probes(c *Config) error {
	specs := l.ProbeLinks
	for _, probe := range l.Probes {
		spec := fmt.Sprint(probe)
		if table, ok := probe.(map[string]any); ok {
			var err error
			if spec, err = probeSpec(table); err != nil {
				return err
			}
		}
		specs = append(specs, spec)
	}
	if len(specs) > 0 {
		c.add("probes", specs...)
	}
	return nil
}

// clock checks clock_sync_interval: our clocks are compared once a report.
func (l *legacyConfig) clock(c *Config) error {
	if l.ClockSyncInterval != nil && *l.ClockSyncInterval < c.ReportInterval {
		return fmt.Errorf("clock_sync_interval is %v: clocks are compared at each report: "+
			"use report_interval (%v)", *l.ClockSyncInterval, c.ReportInterval)
	}
	if l.BPFFSRoot != nil {
		c.notes = append(c.notes, "bpf_fs_root: nothing is kept in a BPF file system")
	}
	if l.NoKernelVersionCheck != nil {
		c.notes = append(c.notes, "no_kernel_version_check: features are looked for, "+
			"never the version")
	}
	return nil
}

// age turns filter_min_process_age into the first rule.
func (l *legacyConfig) age(c *Config) error {
	if !given(l.FilterMinProcessAge) {
		return nil
	}
	if *l.FilterMinProcessAge < 0 {
		return fmt.Errorf("filter_min_process_age is %v and must not be negative",
			*l.FilterMinProcessAge)
	}
	rules := slices.Concat(c.list("rule"), c.list("rules"))
	for _, rule := range rules {
		if strings.HasPrefix(strings.TrimSpace(fmt.Sprint(rule)), "include") {
			return errors.New("filter_min_process_age does not go with rules that include: " +
				"use a rule \"include age:...\"")
		}
	}
	delete(c.Settings, "rule") // the other name of rules
	age := fmt.Sprintf("include age:%dms", l.FilterMinProcessAge.Milliseconds())
	c.set("rules", append([]any{age}, rules...))
	return nil
}

// setRuntime switches one interpreter of the other receiver; explicit: it was named by
// the user.
func (c *Config) setRuntime(key, name string, on, explicit bool) error {
	if name == "v8" {
		name = "node"
	}
	switch {
	case hasRuntime(name):
		if c.Runtimes == nil {
			c.Runtimes = map[string]bool{}
		}
		c.Runtimes[name] = on
	case name == "go" && !on:
		return fmt.Errorf("%s: Go's frames are native frames here: "+
			"exclude the processes by rules, or set native_names to false", key)
	case name != "go" && on && explicit:
		return fmt.Errorf("%s: the runtime %s is not there yet in this receiver: remove it",
			key, name)
	}
	return nil
}

func (l *legacyConfig) interpreters(c *Config) error {
	var errs []error
	for name, i := range l.Interpreters {
		key := "interpreters::" + name
		if !slices.Contains(legacyRuntimes, name) {
			errs = append(errs, fmt.Errorf("%s is not known; there are: %s", key,
				strings.Join(legacyRuntimes, ", ")))
			continue
		}
		errs = append(errs, c.setRuntime(key+"::disabled", name, !i.Disabled, true))
		if i.Labels != nil && !i.Labels.Disabled {
			errs = append(errs, fmt.Errorf(
				"%s::labels: not there yet in this receiver: remove it", key))
		}
		if i.Symbolization != nil && i.Symbolization.Disabled {
			errs = append(errs, fmt.Errorf(
				"%s::symbolization::disabled: use native_names: false", key))
		}
		if i.SkipNativeResume {
			errs = append(errs, fmt.Errorf(
				"%s::skip_native_resume: not there yet in this receiver: remove it", key))
		}
	}
	return errors.Join(errs...)
}

// tracers reads the list of older versions: "all", or the names of what is on.
func (l *legacyConfig) tracers(c *Config) error {
	if l.Tracers == nil {
		return nil
	}
	names := strings.Split(strings.ToLower(*l.Tracers), ",")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	if slices.Contains(names, "all") {
		return nil
	}
	var errs []error
	for _, name := range names {
		if name != "" && name != "labels" && name != "native" &&
			!slices.Contains(legacyRuntimes, name) {
			errs = append(errs, fmt.Errorf("tracers: %q is not known", name))
		}
	}
	for _, name := range legacyRuntimes {
		on := slices.Contains(names, name)
		if name != "go" { // Go's frames are native here, and so are on in any case
			errs = append(errs, c.setRuntime("tracers", name, on, true))
		}
	}
	if slices.Contains(names, "labels") {
		errs = append(errs, errors.New("tracers: labels are not there yet in this receiver"))
	}
	return errors.Join(errs...)
}
