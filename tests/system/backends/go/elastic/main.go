// SPDX-License-Identifier: Apache-2.0

// Command elastic gives requests to Elastic's exporter:
//
//	elastic REQUEST...
//
// The exporter sends to an endpoint of this program, which keeps documents as Elasticsearch's
// bulk API takes them. Each event, joined with its stack and its frames, is one line of JSON.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"slices"
	"strings"

	"github.com/open-telemetry/opentelemetry-collector-contrib/exporter/elasticsearchexporter"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/xexporter"
	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"
)

type row struct {
	Kind     string            `json:"kind"`
	Labels   map[string]string `json:"labels"`
	Stack    []string          `json:"stack"` // leaf first
	Value    int64             `json:"value"`
	BuildIDs map[string]string `json:"build_ids"`
}

// start returns a running exporter that waits for the answer to each request.
func start(ctx context.Context, endpoint string) (xexporter.Profiles, error) {
	factory := elasticsearchexporter.NewFactory().(xexporter.Factory)
	config := factory.CreateDefaultConfig()
	given := confmap.NewFromStringMap(map[string]any{
		"endpoints":     []any{endpoint},
		"sending_queue": map[string]any{"enabled": false},
	})
	if err := given.Unmarshal(config); err != nil {
		return nil, err
	}
	e, err := factory.CreateProfiles(ctx, exporter.Settings{
		ID:                component.NewID(factory.Type()),
		TelemetrySettings: componenttest.NewNopTelemetrySettings(),
	}, config)
	if err != nil {
		return nil, err
	}
	return e, e.Start(ctx, componenttest.NewNopHost())
}

func push(ctx context.Context, e xexporter.Profiles, path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	request := pprofileotlp.NewExportRequest()
	if err := request.UnmarshalProto(data); err != nil {
		return err
	}
	return e.ConsumeProfiles(ctx, request.Profiles())
}

// refused is what the exporter says, less that it takes samples of CPU time alone.
func refused(err error) string {
	if err == nil {
		return ""
	}
	lines := strings.Split(err.Error(), "\n")
	return strings.Join(slices.DeleteFunc(lines, func(line string) bool {
		return strings.HasPrefix(line, "expected sampling type of")
	}), "; ")
}

// rows joins what was kept.
func (k *kept) rows(out *json.Encoder) error {
	for i, event := range k.events {
		r := row{Kind: "samples", Value: 1, Stack: []string{}, BuildIDs: map[string]string{},
			Labels: map[string]string{"process.executable.name": event.Executable,
				"thread.name": event.Thread, "service.name": event.Service}}
		if i == 0 { // a table of the host's, not of an event's
			r.BuildIDs = k.files
		}
		ids, ok := k.stacks[event.Stack]
		if !ok {
			return fmt.Errorf("an event has the stack %q, which was not sent", event.Stack)
		}
		for _, id := range slices.Backward(frameIDs(ids)) { // its leaf comes last
			r.Stack = append(r.Stack, k.frames[id]...)
		}
		if err := out.Encode(r); err != nil {
			return err
		}
	}
	return nil
}

func run(paths []string) error {
	ctx := context.Background()
	k := newKept()
	server := httptest.NewServer(k.handler())
	defer server.Close()
	e, err := start(ctx, server.URL)
	if err != nil {
		return err
	}
	for _, path := range paths {
		if err := push(ctx, e, path); refused(err) != "" {
			return fmt.Errorf("%s: %s", path, refused(err))
		}
	}
	if err := e.Shutdown(ctx); err != nil {
		return err
	}
	return k.rows(json.NewEncoder(os.Stdout))
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
