// SPDX-License-Identifier: Apache-2.0

// Package profiling is the receiver under the name of the OpenTelemetry eBPF profiler's
// receiver, for existing configurations.
package profiling

import (
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/receiver"

	"example.com/libotelprof/otelprofreceiver"
)

// NewFactory makes the factory of the receiver "profiling".
func NewFactory() receiver.Factory {
	return otelprofreceiver.NewFactoryAs(component.MustNewType("profiling"))
}
