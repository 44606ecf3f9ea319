// SPDX-License-Identifier: Apache-2.0

//go:build !linux || !cgo

package otelprofreceiver

import (
	"errors"
	"time"

	"go.uber.org/zap"
)

// A Collector built without cgo has the receiver, too; it says why it cannot start.

type profiler struct{}

func openProfiler(*Config, func(request) bool, *zap.Logger) (*profiler, error) {
	return nil, errors.New("this Collector was built without libotelprof, which needs Linux " +
		"and cgo: set dist::cgo_enabled to true in the builder's manifest")
}

func (*profiler) close()            {}
func (*profiler) start() error      { return nil }
func (*profiler) stop() error       { return nil }
func (*profiler) sample(bool) error { return nil }

func validateSettings(*Config) error { return nil }

func (*profiler) work(time.Duration) (bool, error) { return false, nil }

func (*profiler) wake()                 {}
func (*profiler) export() error         { return nil }
func (*profiler) stats() (stats, error) { return stats{}, nil }

func libraryVersion() string { return "none" }

func hasRuntime(string) bool { return true }
