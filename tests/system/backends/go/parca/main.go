// SPDX-License-Identifier: Apache-2.0

// Command parca gives requests to Parca's profile store:
//
//	parca [-server] [-shift] REQUEST...
//
// Each row that would be stored is one line of JSON. With -server the whole server runs, the
// requests go to it by gRPC, and the lines are what its queries answer. Parca 0.28.0 names a line
// by the function before the one it refers to; with -shift each line refers to the next function,
// so that the rest can be checked.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/go-kit/log"
	"github.com/parca-dev/parca/pkg/profile"
	"github.com/parca-dev/parca/pkg/profilestore"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace/noop"
	otlp "go.opentelemetry.io/proto/otlp/collector/profiles/v1development"
	profiles "go.opentelemetry.io/proto/otlp/profiles/v1development"
	"google.golang.org/protobuf/proto"
)

type row struct {
	Kind     string            `json:"kind"`
	Labels   map[string]string `json:"labels"`
	Stack    []string          `json:"stack"` // leaf first
	Value    int64             `json:"value"`
	BuildIDs map[string]string `json:"build_ids"` // by file
}

// store stands in for the database.
type store struct{ out *json.Encoder }

// text is a column of strings, which Arrow keeps as indices of a dictionary.
func text(column arrow.Array, i int) string {
	if column.IsNull(i) {
		return ""
	}
	d := column.(*array.Dictionary)
	return string(d.Dictionary().(*array.Binary).Value(d.GetValueIndex(i)))
}

func (s *store) Ingest(_ context.Context, record arrow.RecordBatch) error {
	columns := map[string]arrow.Array{}
	for i, field := range record.Schema().Fields() {
		columns[field.Name] = record.Column(i)
	}
	kind := []string{profile.ColumnName, profile.ColumnSampleType, profile.ColumnSampleUnit}
	stacks := columns[profile.ColumnStacktrace].(*array.List)
	for i := range int(record.NumRows()) {
		out := row{Labels: map[string]string{}, Stack: []string{}, BuildIDs: map[string]string{}}
		var names []string
		for _, name := range kind {
			names = append(names, text(columns[name], i))
		}
		out.Kind = strings.Join(names, ":")
		out.Value = columns[profile.ColumnValue].(*array.Int64).Value(i)
		for name, column := range columns {
			if label, ok := strings.CutPrefix(name, profile.ColumnLabelsPrefix); ok {
				if value := text(column, i); value != "" {
					out.Labels[label] = value
				}
			}
		}
		begin, end := stacks.ValueOffsets(i)
		for j := int(begin); j < int(end); j++ {
			if err := out.location([]byte(text(stacks.ListValues(), j))); err != nil {
				return err
			}
		}
		if err := s.out.Encode(out); err != nil {
			return err
		}
	}
	return nil
}

// location adds a stored location as Parca's own query reads it.
func (r *row) location(data []byte) error {
	w := profile.NewLocationsWriter(memory.DefaultAllocator)
	defer w.RecordBuilder.Release()
	w.LocationsList.Append(true)
	w.Locations.Append(true)
	if _, err := profile.DecodeInto(w, data, nil); err != nil {
		return err
	}
	for i := range w.FunctionName.Len() {
		if w.FunctionName.IsNull(i) {
			return errors.New("a line without a function")
		}
	}
	r.names(w.FunctionName)
	files, ids := w.MappingFile.NewDictionaryArray(), w.MappingBuildID.NewDictionaryArray()
	defer files.Release()
	defer ids.Release()
	if files.Len() == 1 && !files.IsNull(0) {
		r.BuildIDs[text(files, 0)] = text(ids, 0)
	}
	return nil
}

func (r *row) names(builder *array.BinaryDictionaryBuilder) {
	names := builder.NewDictionaryArray()
	defer names.Release()
	for i := range names.Len() {
		r.Stack = append(r.Stack, text(names, i))
	}
}

// shift makes up for Parca's reading of function indices.
func shift(d *profiles.ProfilesDictionary) {
	for _, location := range d.LocationTable {
		for _, line := range location.Lines {
			line.FunctionIndex++
		}
	}
	d.FunctionTable = append(d.FunctionTable, &profiles.Function{})
}

type exporter func(context.Context, *otlp.ExportProfilesServiceRequest) error

// send gives the requests to @export.
func send(ctx context.Context, export exporter, paths []string, shifted bool) error {
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		request := &otlp.ExportProfilesServiceRequest{}
		if err := proto.Unmarshal(data, request); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if shifted {
			shift(request.Dictionary)
		}
		if err := export(ctx, request); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// stored prints what the store would have kept.
func stored(paths []string, shifted bool) error {
	schema, err := profile.Schema()
	if err != nil {
		return err
	}
	s := profilestore.NewProfileColumnStore(prometheus.NewRegistry(), log.NewNopLogger(),
		noop.NewTracerProvider().Tracer(""), &store{json.NewEncoder(os.Stdout)}, schema,
		memory.DefaultAllocator)
	export := func(ctx context.Context, request *otlp.ExportProfilesServiceRequest) error {
		_, err := s.Export(ctx, request)
		return err
	}
	return send(context.Background(), export, paths, shifted)
}

func main() {
	shifted := flag.Bool("shift", false, "let lines refer to the next function")
	server := flag.Bool("server", false, "run the whole server, and print what queries answer")
	flag.Parse()
	run := stored
	if *server {
		run = served
	}
	if err := run(flag.Args(), *shifted); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
