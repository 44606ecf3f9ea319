// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/alecthomas/kong"
	"github.com/go-kit/log"
	pprof "github.com/google/pprof/profile"
	querypb "github.com/parca-dev/parca/gen/proto/go/parca/query/v1alpha1"
	"github.com/parca-dev/parca/pkg/parca"
	"github.com/prometheus/client_golang/prometheus"
	otlp "go.opentelemetry.io/proto/otlp/collector/profiles/v1development"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/timestamppb"
)

const (
	patience   = time.Minute
	executable = "process_executable_name" // the label
	config     = "object_storage: {bucket: {type: FILESYSTEM, config: {directory: %q}}}\n"
)

// start runs the whole server, with a database in memory and no other servers to ask.
func start(ctx context.Context, folder, address string, ended chan<- error) error {
	file := filepath.Join(folder, "parca.yaml")
	text := fmt.Sprintf(config, filepath.Join(folder, "data"))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return err
	}
	flags := &parca.Flags{}
	parser, err := kong.New(flags)
	if err != nil {
		return err
	}
	if _, err := parser.Parse([]string{"--http-address", address, "--config-path", file,
		"--debuginfo-cache-dir", folder, "--profile-share-server", "127.0.0.1:1"}); err != nil {
		return err
	}
	flags.Debuginfod.UpstreamServers = nil
	go func() {
		ended <- parca.Run(ctx, log.NewNopLogger(), prometheus.NewRegistry(), flags, "test")
	}()
	return nil
}

// free is an address on which nothing listens.
func free() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer listener.Close()
	return listener.Addr().String(), nil
}

type queries struct {
	querypb.QueryServiceClient
	begin, end *timestamppb.Timestamp
}

// everything is the window that holds all that was sent, made-up samples too.
func everything(conn *grpc.ClientConn) queries {
	return queries{querypb.NewQueryServiceClient(conn), timestamppb.New(time.Unix(1, 0)),
		timestamppb.New(time.Now().Add(time.Hour))}
}

// kinds are the types of profiles that the server has, as its queries name them.
func (q queries) kinds(ctx context.Context) (map[string]string, error) {
	answer, err := q.ProfileTypes(ctx, &querypb.ProfileTypesRequest{Start: q.begin, End: q.end})
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for _, t := range answer.Types {
		short := t.Name + ":" + t.SampleType + ":" + t.SampleUnit
		long := short + ":" + t.PeriodType + ":" + t.PeriodUnit
		if t.Delta {
			long += ":delta"
		}
		found[long] = short
	}
	return found, nil
}

// executables are the values of the label, of profiles of that kind.
func (q queries) executables(ctx context.Context, kind string) ([]string, error) {
	answer, err := q.Values(ctx, &querypb.ValuesRequest{LabelName: executable, Start: q.begin,
		End: q.end, ProfileType: &kind})
	if err != nil {
		return nil, err
	}
	return answer.LabelValues, nil
}

// merged is all of one kind and executable, as the pprof file that users download.
func (q queries) merged(ctx context.Context, kind, exe string) (*pprof.Profile, error) {
	answer, err := q.Query(ctx, &querypb.QueryRequest{
		Mode:       querypb.QueryRequest_MODE_MERGE,
		ReportType: querypb.QueryRequest_REPORT_TYPE_PPROF,
		Options: &querypb.QueryRequest_Merge{Merge: &querypb.MergeProfile{Start: q.begin,
			End: q.end, Query: fmt.Sprintf("%s{%s=%q}", kind, executable, exe)}}})
	if err != nil {
		return nil, err
	}
	return pprof.Parse(bytes.NewReader(answer.GetPprof()))
}

// write prints a row for each stack.
func write(out *json.Encoder, kind, exe string, p *pprof.Profile) error {
	for _, s := range p.Sample {
		r := row{Kind: kind, Labels: map[string]string{executable: exe}, Stack: []string{},
			Value: s.Value[0], BuildIDs: map[string]string{}}
		for _, l := range s.Location {
			for _, line := range l.Line {
				r.Stack = append(r.Stack, line.Function.Name)
			}
			if l.Mapping != nil {
				r.BuildIDs[l.Mapping.File] = l.Mapping.BuildID
			}
		}
		if err := out.Encode(r); err != nil {
			return err
		}
	}
	return nil
}

// answers prints what the queries answer.
func (q queries) answers(ctx context.Context, out *json.Encoder) error {
	kinds, err := q.kinds(ctx)
	if err != nil {
		return err
	}
	for long, short := range kinds {
		names, err := q.executables(ctx, long)
		if err != nil {
			return err
		}
		for _, exe := range names {
			p, err := q.merged(ctx, long, exe)
			if err != nil {
				return fmt.Errorf("%s of %s: %w", long, exe, err)
			}
			if err := write(out, short, exe, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// served gives the requests to a whole server, and prints what it answers.
func served(paths []string, shifted bool) error {
	folder, err := os.MkdirTemp("", "parca")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	address, err := free()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	ended := make(chan error, 1)
	if err := start(ctx, folder, address, ended); err != nil {
		return err
	}
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	done := make(chan error, 1)
	go func() {
		client := otlp.NewProfilesServiceClient(conn)
		export := func(ctx context.Context, r *otlp.ExportProfilesServiceRequest) error {
			_, err := client.Export(ctx, r, grpc.WaitForReady(true))
			return err
		}
		err := send(ctx, export, paths, shifted)
		if err == nil {
			err = everything(conn).answers(ctx, json.NewEncoder(os.Stdout))
		}
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case err := <-ended:
		return fmt.Errorf("the server ended: %w", err)
	}
}
