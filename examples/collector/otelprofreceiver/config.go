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

const (
	requestBytesMin   = 64 << 10
	requestBytesMax   = 64 << 20
	reportIntervalMin = 100 * time.Millisecond
)

// Config is the configuration; docs/collector.md says what each key does.
type Config struct {
	ReportInterval time.Duration `mapstructure:"report_interval"`
	ReportJitter   float64       `mapstructure:"report_jitter"`
	StatsInterval  time.Duration `mapstructure:"stats_interval"`

	Runtimes map[string]bool `mapstructure:"runtimes"`

	// With a probability of threshold in 100, each interval is sampled.
	ProbabilisticInterval  time.Duration `mapstructure:"probabilistic_interval"`
	ProbabilisticThreshold int           `mapstructure:"probabilistic_threshold"`

	MaxRequestBytes uint64                    `mapstructure:"max_request_bytes"`
	QueueBytes      int                       `mapstructure:"queue_bytes"`
	Retry           configretry.BackOffConfig `mapstructure:"retry_on_failure"`
	ShutdownTimeout time.Duration             `mapstructure:"shutdown_timeout"`
	ErrorMode       string                    `mapstructure:"error_mode"`

	// Settings are the keys of the library (lib/api/settings/keys.def), which reads their
	// values as text.
	Settings map[string]any `mapstructure:",remain"`

	// notes name keys that Unmarshal accepted without effect; Start logs them once.
	notes []string
}

func defaultConfig() *Config {
	return &Config{
		ReportInterval:         5 * time.Second,
		ReportJitter:           0.2,
		StatsInterval:          5 * time.Second,
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

// set gives a key of the library a value.
func (c *Config) set(key string, value any) {
	if c.Settings == nil {
		c.Settings = map[string]any{}
	}
	c.Settings[key] = value
}

// list is a copy of a list of the library.
func (c *Config) list(key string) []any {
	switch value := c.Settings[key].(type) {
	case nil:
		return nil
	case []any:
		return slices.Clone(value)
	default:
		return []any{value}
	}
}

// add adds entries to a list of the library.
func (c *Config) add(key string, entries ...string) {
	list := c.list(key)
	for _, entry := range entries {
		list = append(list, entry)
	}
	c.set(key, list)
}

// texts calls fn for each key of the library that is set, and for each entry of a list.
func (c *Config) texts(fn func(key, text string) error) error {
	var errs []error
	give := func(key string, value any) {
		text := fmt.Sprint(value)
		if strings.ContainsAny(text, "\n\x00") {
			errs = append(errs, fmt.Errorf("%s: a value has more than one line", key))
			return
		}
		errs = append(errs, fn(key, text))
	}
	// That it knows the names; then those that are off.
	for _, name := range slices.Sorted(maps.Keys(c.Runtimes)) {
		give("runtimes_off", name)
	}
	give("runtimes_off", "")
	for _, name := range slices.Sorted(maps.Keys(c.Runtimes)) {
		if !c.Runtimes[name] {
			give("runtimes_off", name)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(c.Settings)) {
		switch value := c.Settings[key].(type) {
		case nil:
		case []any:
			for i, entry := range value {
				if s, ok := entry.(string); ok && strings.TrimSpace(s) == "" {
					errs = append(errs, fmt.Errorf("%s: entry %d is empty", key, i+1))
					continue
				}
				give(key, entry)
			}
		case map[string]any: // the other name of such a key takes one entry as it is
			for _, name := range slices.Sorted(maps.Keys(value)) {
				give(strings.TrimSuffix(key, "s"), fmt.Sprintf("%s=%v", name, value[name]))
			}
		default:
			give(key, value)
		}
	}
	return errors.Join(errs...)
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
		positive("report_interval", c.ReportInterval, reportIntervalMin),
		within("report_jitter", c.ReportJitter, 0, 1),
		positive("stats_interval", c.StatsInterval, reportIntervalMin),
		within("max_request_bytes", c.MaxRequestBytes, requestBytesMin, requestBytesMax),
		within("probabilistic_threshold", c.ProbabilisticThreshold, 1, 100),
		validateSettings(c),
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
	return errors.Join(errs...)
}
