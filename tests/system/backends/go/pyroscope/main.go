// SPDX-License-Identifier: Apache-2.0

// Command pyroscope gives requests to Pyroscope's OTLP handler and checks what comes out with
// Pyroscope's validation, under the limits it ships with:
//
//	pyroscope REQUEST...       files
//	pyroscope -listen ADDRESS  what comes by gRPC or HTTP on one port, until SIGTERM
//
// Each sample that would be stored is one line of JSON. Only the age of a profile is not
// checked: a request may have been recorded long ago.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/go-kit/log"
	_ "github.com/grafana/dskit/grpcclient" // brings gRPC's gzip, as it does to Pyroscope
	"github.com/grafana/dskit/server"
	"github.com/grafana/dskit/user"
	distributor "github.com/grafana/pyroscope/v2/pkg/distributor/model"
	"github.com/grafana/pyroscope/v2/pkg/ingester/otlp"
	"github.com/grafana/pyroscope/v2/pkg/model"
	"github.com/grafana/pyroscope/v2/pkg/pprof"
	"github.com/grafana/pyroscope/v2/pkg/validation"
	prometheus "github.com/prometheus/common/model"
)

const tenant = "anonymous" // of a server without tenants

type sample struct {
	Kind     string            `json:"kind"`
	Labels   map[string]string `json:"labels"`
	Stack    []string          `json:"stack"` // leaf first
	Value    int64             `json:"value"`
	BuildIDs map[string]string `json:"build_ids"` // by file
}

// store stands in for the distributor, which would send the series on.
type store struct {
	limits *validation.Overrides
	lock   sync.Mutex
	out    *json.Encoder
}

func (s *store) PushBatch(_ context.Context, req *distributor.PushRequest) error {
	s.lock.Lock()
	defer s.lock.Unlock()
	for _, series := range req.Series {
		if err := s.push(series); err != nil {
			return err
		}
	}
	return nil
}

func (s *store) push(series *distributor.ProfileSeries) error {
	labels, err := validation.ValidateLabels(s.limits, tenant, series.Labels, log.NewNopLogger())
	if err != nil {
		return err
	}
	p := series.Profile
	p.Normalize()
	when := prometheus.TimeFromUnixNano(p.TimeNanos)
	_, err = validation.ValidateProfile(s.limits, tenant, p, p.SizeVT(), labels, when)
	if err != nil {
		return err
	}
	values := map[string]string{}
	for _, l := range labels {
		values[l.Name] = l.Value
	}
	kind := values[model.LabelNameProfileName]
	for _, t := range p.SampleType {
		kind += ":" + p.StringTable[t.Type] + ":" + p.StringTable[t.Unit]
	}
	return s.write(p, sample{Kind: kind, Labels: values})
}

func (s *store) write(p *pprof.Profile, out sample) error {
	for _, from := range p.Sample {
		out.Stack = []string{}
		out.BuildIDs = map[string]string{}
		out.Value = from.Value[0]
		for _, id := range from.LocationId {
			l := p.Location[id-1]
			for _, line := range l.Line {
				name := p.Function[line.FunctionId-1].Name
				out.Stack = append(out.Stack, p.StringTable[name])
			}
			m := p.Mapping[l.MappingId-1]
			out.BuildIDs[p.StringTable[m.Filename]] = p.StringTable[m.BuildId]
		}
		if err := s.out.Encode(out); err != nil {
			return err
		}
	}
	return nil
}

// listen serves as Pyroscope does: HTTP/1 and, without TLS, HTTP/2 with gRPC in it.
func listen(address string, handler http.Handler) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	server := http.Server{Handler: handler, Protocols: protocols}
	stop, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	go func() {
		<-stop.Done()
		server.Close()
	}()
	fmt.Fprintln(os.Stderr, listener.Addr())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func run(address string, paths []string) error {
	var limits validation.Limits
	limits.RegisterFlags(flag.NewFlagSet("", flag.ContinueOnError)) // sets the defaults
	overrides, err := validation.NewOverrides(limits, nil)
	if err != nil {
		return err
	}
	var config server.Config
	config.RegisterFlags(flag.NewFlagSet("", flag.ContinueOnError))
	s := &store{limits: overrides, out: json.NewEncoder(os.Stdout)}
	ingest := otlp.NewOTLPIngestHandler(config, s, log.NewNopLogger(), overrides)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ingest.ServeHTTP(w, r.WithContext(user.InjectOrgID(r.Context(), tenant)))
	})
	if address != "" {
		return listen(address, handler)
	}
	for _, path := range paths {
		body, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		post := httptest.NewRequest(http.MethodPost, "/v1development/profiles", bytes.NewReader(body))
		post.Header.Set("Content-Type", "application/x-protobuf")
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, post)
		if answer.Code != http.StatusOK {
			return fmt.Errorf("%s: HTTP %d: %s", path, answer.Code, answer.Body)
		}
	}
	return nil
}

func main() {
	address := flag.String("listen", "", "serve at this `address`")
	flag.Parse()
	if err := run(*address, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
