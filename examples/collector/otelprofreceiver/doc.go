// SPDX-License-Identifier: Apache-2.0

// Package otelprofreceiver is a receiver of the OpenTelemetry Collector that profiles the
// host it runs on with libotelprof, through cgo.
package otelprofreceiver
