// SPDX-License-Identifier: Apache-2.0

package profiling

import (
	"context"
	"testing"

	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.opentelemetry.io/collector/receiver/xreceiver"
)

func TestName(t *testing.T) {
	f := NewFactory().(xreceiver.Factory)
	if f.Type().String() != "profiling" {
		t.Error(f.Type())
	}
	// The type in the settings must be the factory's.
	_, err := f.CreateProfiles(context.Background(), receivertest.NewNopSettings(f.Type()),
		f.CreateDefaultConfig(), consumertest.NewNop())
	if err != nil {
		t.Error(err)
	}
}
