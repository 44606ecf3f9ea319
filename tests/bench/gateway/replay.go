// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand"
	"sort"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/status"
)

// body is a request of one agent, ready for the wire.
type body struct {
	bytes   []byte
	raw     int
	samples uint64
}

type agent struct {
	connection *grpc.ClientConn
	bodies     []body
}

// plan is when agents send. A request is measured if it was due in [begin, end); those before
// warm the gateway up.
type plan struct {
	window  time.Duration
	jitter  float64 // each window is up to this share shorter or longer
	timeout time.Duration
	start   time.Time
	begin   time.Time
	end     time.Time
}

// result is of the measured requests; warm ones have totals alone.
type result struct {
	AllSent     uint64         `json:"all_sent"`
	AllSamples  uint64         `json:"all_samples_acknowledged"`
	Sent        uint64         `json:"sent"`
	Acked       uint64         `json:"acknowledged"`
	Refused     uint64         `json:"refused"` // RESOURCE_EXHAUSTED, UNAVAILABLE
	Late        uint64         `json:"timed_out"`
	Failed      uint64         `json:"failed"` // any other status
	Codes       map[string]int `json:"codes"`
	Samples     uint64         `json:"samples_acknowledged"`
	WireBytes   uint64         `json:"wire_bytes"`
	RawBytes    uint64         `json:"raw_bytes"`
	P50, P99    float64        // ms from the moment a request was due to its answer
	Behind      uint64         `json:"behind"` // answered, more than a window after it was due
	Unsent      uint64         `json:"unsent"` // of agents that were too far behind
	MostBehindS float64        `json:"most_behind_s"`
	took        []time.Duration
}

type results struct {
	sync.Mutex
	result
}

func compress(data []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	w.Write(data)
	w.Close()
	return out.Bytes()
}

// newAgents makes agents that differ by host.id and host.name, each with a connection.
func newAgents(target string, count, each int, requests [][]byte) ([]*agent, error) {
	agents := make([]*agent, count)
	for i := range agents {
		connection, err := grpc.NewClient(target,
			grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithDefaultCallOptions(grpc.UseCompressor("gzip")),
			grpc.WithReadBufferSize(4<<10), grpc.WithSharedWriteBuffer(true))
		if err != nil {
			return nil, err
		}
		agents[i] = &agent{connection: connection}
		host := map[string]string{"host.id": fmt.Sprintf("%032x", i+1),
			"host.name": fmt.Sprintf("node-%06d", i+1)}
		for k := range each {
			request, err := withAttributes(requests[(i+k)%len(requests)], host)
			if err != nil {
				return nil, err
			}
			samples, err := samplesOf(request)
			if err != nil {
				return nil, err
			}
			agents[i].bodies = append(agents[i].bodies,
				body{compress(request), len(request), samples})
		}
	}
	return agents, nil
}

// connect waits until each agent has its connection.
func connect(agents []*agent, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	for _, a := range agents {
		a.connection.Connect()
	}
	for i, a := range agents {
		for state := a.connection.GetState(); state != connectivity.Ready; {
			if !a.connection.WaitForStateChange(ctx, state) {
				return fmt.Errorf("agent %d of %d has no connection: %v", i+1, len(agents), state)
			}
			state = a.connection.GetState()
			if state == connectivity.Idle {
				a.connection.Connect()
			}
		}
	}
	return nil
}

// run sends one request a window, one at a time: what is late does not skip the next. It does
// not try again what was refused, so that what is sent is what was planned.
func (a *agent) run(p plan, chance *rand.Rand, r *results) {
	due := p.start.Add(time.Duration(chance.Float64() * float64(p.window)))
	for k := 0; due.Before(p.end); k++ {
		time.Sleep(time.Until(due))
		if time.Since(p.end) > p.window { // so far behind that it is not waited for
			r.skip(p, due)
		} else {
			b := &a.bodies[k%len(a.bodies)]
			var empty []byte
			ctx, cancel := context.WithTimeout(context.Background(), p.timeout)
			err := a.connection.Invoke(ctx, method, &b.bytes, &empty)
			cancel()
			r.note(p, due, b, err)
		}
		due = due.Add(time.Duration(float64(p.window) *
			(1 + p.jitter*(2*chance.Float64()-1))))
	}
}

func (r *results) skip(p plan, due time.Time) {
	r.Lock()
	defer r.Unlock()
	if !due.Before(p.begin) {
		r.Unsent++
	}
}

func (r *results) note(p plan, due time.Time, b *body, err error) {
	took := time.Since(due)
	r.Lock()
	defer r.Unlock()
	r.AllSent++
	if err == nil {
		r.AllSamples += b.samples
	}
	if due.Before(p.begin) {
		return
	}
	r.Sent++
	r.WireBytes += uint64(len(b.bytes))
	r.RawBytes += uint64(b.raw)
	r.took = append(r.took, took)
	r.MostBehindS = max(r.MostBehindS, took.Seconds())
	if err == nil && took > p.window {
		r.Behind++
	}
	code := status.Code(err)
	r.Codes[code.String()]++
	switch code {
	case codes.OK:
		r.Acked++
		r.Samples += b.samples
	case codes.ResourceExhausted, codes.Unavailable:
		r.Refused++
	case codes.DeadlineExceeded:
		r.Late++
	default:
		r.Failed++
	}
}

func (r *result) percentile(share float64) float64 {
	if len(r.took) == 0 {
		return 0
	}
	at := min(int(share*float64(len(r.took))), len(r.took)-1)
	return float64(r.took[at].Microseconds()) / 1000
}

func replayMain(args []string) error {
	flags := flag.NewFlagSet("replay", flag.ExitOnError)
	path := flags.String("requests", "", "a file of recorded requests")
	count := flags.Int("agents", 1, "")
	each := flags.Int("each", 2, "different requests of each agent")
	window := flags.Duration("window", 5*time.Second, "")
	jitter := flags.Float64("jitter", 0.1, "of an agent")
	timeout := flags.Duration("timeout", 10*time.Second, "of one request, as in an agent")
	warm := flags.Duration("warm", 5*time.Second, "before anything is measured")
	length := flags.Duration("measure", 20*time.Second, "")
	flags.Parse(args)
	requests, err := readFramed(*path)
	if err != nil {
		return err
	}
	encoding.RegisterCompressor(zipped{encoding.GetCompressor("gzip")})
	agents, err := newAgents(flags.Arg(0), *count, *each, requests)
	if err != nil {
		return err
	}
	if err := connect(agents, time.Minute); err != nil {
		return err
	}
	fmt.Println("connected")
	p := plan{window: *window, jitter: *jitter, timeout: *timeout, start: time.Now()}
	p.begin = p.start.Add(*warm)
	p.end = p.begin.Add(*length)
	r := results{result: result{Codes: map[string]int{}}}
	var all sync.WaitGroup
	for i, a := range agents {
		all.Add(1)
		go func() {
			defer all.Done()
			a.run(p, rand.New(rand.NewSource(int64(i))), &r)
		}()
	}
	time.Sleep(time.Until(p.begin))
	fmt.Println("begin")
	time.Sleep(time.Until(p.end))
	fmt.Println("end")
	all.Wait()
	sort.Slice(r.took, func(i, j int) bool { return r.took[i] < r.took[j] })
	r.P50, r.P99 = r.percentile(0.5), r.percentile(0.99)
	text, err := json.Marshal(r.result)
	fmt.Println(string(text))
	return err
}
