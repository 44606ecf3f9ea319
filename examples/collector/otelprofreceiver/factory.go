// SPDX-License-Identifier: Apache-2.0

package otelprofreceiver

import (
	"context"
	"fmt"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/xreceiver"
)

const (
	scopeName = "libotelprof/otelprofreceiver"
	stability = component.StabilityLevelDevelopment
)

var componentType = component.MustNewType("otelprof")

// NewFactory makes the factory of the receiver "otelprof", for a pipeline of profiles.
func NewFactory() receiver.Factory {
	return NewFactoryAs(componentType)
}

// NewFactoryAs is NewFactory for a receiver of another name.
func NewFactoryAs(name component.Type) receiver.Factory {
	return xreceiver.NewFactory(name,
		func() component.Config { return defaultConfig() },
		xreceiver.WithProfiles(createProfiles, stability))
}

func createProfiles(_ context.Context, settings receiver.Settings, config component.Config,
	next xconsumer.Profiles) (xreceiver.Profiles, error) {
	c, ok := config.(*Config)
	if !ok {
		return nil, fmt.Errorf("a configuration of the type %T is not ours", config)
	}
	return &profilesReceiver{config: c, settings: settings, next: next}, nil
}
