// SPDX-License-Identifier: Apache-2.0

package otelprofreceiver

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/collector/config/configretry"
)

// What a failed Start does to the Collector.
const (
	errorPropagate = "propagate" // the Collector does not start
	errorIgnore    = "ignore"    // it runs without profiles and reports that in its status
)

// Limits of the library (lib/api/config.c), so that "validate" finds what Start would
// refuse.
const (
	environmentMax    = 32
	variableNameMax   = 128
	rateMaxHz         = 1000
	offCPUSamplesMax  = 100000
	probeSamplesMax   = 1000000
	framesMin         = 16
	framesMax         = 1024
	cpuBudgetMax      = 1000000
	pollBudgetMax     = 1000
	processesMax      = 1 << 20
	ringBytesMin      = 64 << 10
	ringBytesMax      = 1 << 30
	memoryBudgetMin   = 1 << 20
	memoryBudgetMax   = 1 << 30
	memoryLimitMin    = 16 << 20
	requestBytesMin   = 64 << 10
	requestBytesMax   = 64 << 20
	reportIntervalMin = 100 * time.Millisecond
)

// Config is the configuration; docs/collector.md says what each key does.
type Config struct {
	SampleRateHz   int           `mapstructure:"sample_rate_hz"`
	Kinds          []string      `mapstructure:"kinds"`               // none: cpu
	CPUBudget      int           `mapstructure:"cpu_budget_permille"` // of one core; 0: none
	PollBudget     int           `mapstructure:"poll_budget_ms"`      // of the work of one call
	ProbeSamples   int           `mapstructure:"probe_samples"`
	OffCPUSamples  int           `mapstructure:"off_cpu_samples"`
	OffCPUMin      time.Duration `mapstructure:"off_cpu_min"`
	ReportInterval time.Duration `mapstructure:"report_interval"`
	ReportJitter   float64       `mapstructure:"report_jitter"`
	StatsInterval  time.Duration `mapstructure:"stats_interval"`

	MaxFrames         int    `mapstructure:"max_frames"`
	MaxProcesses      int    `mapstructure:"max_processes"`
	MemoryBudgetBytes uint64 `mapstructure:"memory_budget_bytes"`
	SymbolBudgetBytes uint64 `mapstructure:"symbol_budget_bytes"`
	MemoryLimitBytes  uint64 `mapstructure:"memory_limit_bytes"` // of both together; 0: none
	RingBytes         uint32 `mapstructure:"ring_bytes"`

	KernelStacks bool            `mapstructure:"kernel_stacks"`
	UserStacks   bool            `mapstructure:"user_stacks"`
	NativeNames  bool            `mapstructure:"native_names"`
	IdleStacks   bool            `mapstructure:"idle_stacks"`
	AwaitChains  bool            `mapstructure:"await_chains"`
	StartScan    bool            `mapstructure:"start_scan"`
	Runtimes     map[string]bool `mapstructure:"runtimes"`
	LayoutsDir   string          `mapstructure:"layouts_dir"`

	Rules []string `mapstructure:"rules"` // in the words of the library's key

	ServiceName    *string           `mapstructure:"service_name"` // nil: the executable's name
	HostAttributes bool              `mapstructure:"host_attributes"`
	Attributes     map[string]string `mapstructure:"attributes"`
	CommandLine    bool              `mapstructure:"command_line"`
	Environment    []string          `mapstructure:"environment"`

	ProcfsRoot string `mapstructure:"procfs_root"`
	SysfsRoot  string `mapstructure:"sysfs_root"`

	// With a probability of threshold in 100, each interval is sampled.
	ProbabilisticInterval  time.Duration `mapstructure:"probabilistic_interval"`
	ProbabilisticThreshold int           `mapstructure:"probabilistic_threshold"`

	MaxRequestBytes uint64                    `mapstructure:"max_request_bytes"`
	QueueBytes      int                       `mapstructure:"queue_bytes"`
	Retry           configretry.BackOffConfig `mapstructure:"retry_on_failure"`
	ShutdownTimeout time.Duration             `mapstructure:"shutdown_timeout"`
	ErrorMode       string                    `mapstructure:"error_mode"`

	// notes name keys that Unmarshal accepted without effect; Start logs them once.
	notes  []string
	probes []string // specifications, from probe_links and probes
}

func defaultConfig() *Config {
	return &Config{
		SampleRateHz:           20,
		PollBudget:             20,
		OffCPUSamples:          2000,
		ProbeSamples:           1000,
		ReportInterval:         5 * time.Second,
		ReportJitter:           0.2,
		StatsInterval:          5 * time.Second,
		MaxFrames:              framesMax,
		MaxProcesses:           8192,
		MemoryBudgetBytes:      64 << 20,
		SymbolBudgetBytes:      64 << 20,
		KernelStacks:           true,
		UserStacks:             true,
		NativeNames:            true,
		StartScan:              true,
		HostAttributes:         true,
		ProcfsRoot:             "/proc",
		SysfsRoot:              "/sys",
		ProbabilisticInterval:  time.Minute,
		ProbabilisticThreshold: 100,
		// Processors add attributes, and servers refuse more than 4 MiB by
		// default.
		MaxRequestBytes: 3_000_000,
		QueueBytes:      16 << 20,
		Retry:           configretry.NewDefaultBackOffConfig(),
		ShutdownTimeout: 5 * time.Second,
		ErrorMode:       errorPropagate,
	}
}

// within returns nil if min <= value <= max.
func within[T int | uint32 | uint64 | float64](key string, value, min, max T) error {
	if value >= min && value <= max {
		return nil
	}
	return fmt.Errorf("%s is %v and must be %v to %v", key, value, min, max)
}

// positive returns nil if a duration is at least min.
func positive(key string, value, min time.Duration) error {
	if value >= min {
		return nil
	}
	return fmt.Errorf("%s is %v and must be at least %v", key, value, min)
}

// Validate reports what the library would refuse, before anything starts.
func (c *Config) Validate() error {
	errs := []error{
		within("sample_rate_hz", c.SampleRateHz, 1, rateMaxHz),
		within("cpu_budget_permille", c.CPUBudget, 0, cpuBudgetMax),
		within("poll_budget_ms", c.PollBudget, 1, pollBudgetMax),
		within("off_cpu_samples", c.OffCPUSamples, 1, offCPUSamplesMax),
		within("probe_samples", c.ProbeSamples, 1, probeSamplesMax),
		positive("off_cpu_min", c.OffCPUMin, 0),
		c.validateKinds(),
		positive("report_interval", c.ReportInterval, reportIntervalMin),
		within("report_jitter", c.ReportJitter, 0, 1),
		positive("stats_interval", c.StatsInterval, reportIntervalMin),
		within("max_frames", c.MaxFrames, framesMin, framesMax),
		within("max_processes", c.MaxProcesses, 1, processesMax),
		within("memory_budget_bytes", c.MemoryBudgetBytes, memoryBudgetMin, memoryBudgetMax),
		within("max_request_bytes", c.MaxRequestBytes, requestBytesMin, requestBytesMax),
		within("probabilistic_threshold", c.ProbabilisticThreshold, 1, 100),
		c.validateRing(),
		c.validateRuntimes(),
		c.validateAttributes(),
		c.validateEnvironment(),
		validateRuleTexts(c.Rules),
	}
	if c.MemoryLimitBytes != 0 && c.MemoryLimitBytes < memoryLimitMin {
		errs = append(errs, fmt.Errorf("memory_limit_bytes is %d and must be 0 or at least %d",
			c.MemoryLimitBytes, memoryLimitMin))
	}
	if c.SymbolBudgetBytes == 0 {
		errs = append(errs, errors.New("symbol_budget_bytes is 0 and must be more"))
	}
	if c.ProbabilisticInterval < time.Minute || c.ProbabilisticInterval > 5*time.Minute {
		errs = append(errs, fmt.Errorf("probabilistic_interval is %v and must be 1m to 5m",
			c.ProbabilisticInterval))
	}
	if c.QueueBytes < int(c.MaxRequestBytes) {
		errs = append(errs, fmt.Errorf("queue_bytes is %d and must be at least "+
			"max_request_bytes (%d)", c.QueueBytes, c.MaxRequestBytes))
	}
	if c.ShutdownTimeout < 0 {
		errs = append(errs, fmt.Errorf("shutdown_timeout is %v and must not be negative",
			c.ShutdownTimeout))
	}
	if c.ErrorMode != errorPropagate && c.ErrorMode != errorIgnore {
		errs = append(errs, fmt.Errorf("error_mode is %q and must be %q or %q",
			c.ErrorMode, errorPropagate, errorIgnore))
	}
	if !c.KernelStacks && !c.UserStacks {
		errs = append(errs, errors.New("kernel_stacks and user_stacks are both off: "+
			"nothing is left to profile"))
	}
	return errors.Join(errs...)
}

func (c *Config) validateRing() error {
	if c.RingBytes == 0 {
		return nil // the library chooses by the number of CPUs
	}
	if c.RingBytes&(c.RingBytes-1) != 0 {
		return fmt.Errorf("ring_bytes is %d and must be a power of two", c.RingBytes)
	}
	return within("ring_bytes", c.RingBytes, ringBytesMin, ringBytesMax)
}

func (c *Config) validateKinds() error {
	for _, name := range c.Kinds {
		if kinds[name] == 0 {
			return fmt.Errorf("kinds: %q is not known; there are: %s", name,
				strings.Join(slices.Sorted(maps.Keys(kinds)), ", "))
		}
	}
	return nil
}

func (c *Config) validateRuntimes() error {
	for name := range c.Runtimes {
		if runtimes[name] == 0 {
			return fmt.Errorf("runtimes::%s is not known; there are: %s", name,
				strings.Join(slices.Sorted(maps.Keys(runtimes)), ", "))
		}
	}
	return nil
}

func (c *Config) validateAttributes() error {
	for key := range c.Attributes {
		if key == "" {
			return errors.New("attributes has an empty key")
		}
	}
	return nil
}

func (c *Config) validateEnvironment() error {
	if len(c.Environment) > environmentMax {
		return fmt.Errorf("environment has %d names and may have %d", len(c.Environment),
			environmentMax)
	}
	for _, name := range c.Environment {
		if name == "" || len(name) > variableNameMax || strings.ContainsAny(name, "=\x00") {
			return fmt.Errorf("environment: %q is not the name of a variable of 1 to %d bytes",
				name, variableNameMax)
		}
	}
	return nil
}
