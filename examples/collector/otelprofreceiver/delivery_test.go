// SPDX-License-Identifier: Apache-2.0

package otelprofreceiver

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/config/configretry"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.uber.org/zap"
)

// pipeline is a consumer that answers with the given errors, and then with nil.
type pipeline struct {
	mu      sync.Mutex
	answers []error
	forever error // the answer after answers
	hangs   bool  // it hangs until its context is over
	got     []pprofile.Profiles
	calls   int
}

func (*pipeline) Capabilities() consumer.Capabilities {
	return consumer.Capabilities{MutatesData: true}
}

func (p *pipeline) ConsumeProfiles(ctx context.Context, profiles pprofile.Profiles) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls++
	if p.hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	err := p.forever
	if len(p.answers) > 0 {
		err, p.answers = p.answers[0], p.answers[1:]
	}
	if err != nil {
		// A processor may change the profiles before a later component fails.
		profiles.ResourceProfiles().RemoveIf(func(pprofile.ResourceProfiles) bool {
			return true
		})
		return err
	}
	p.got = append(p.got, profiles)
	return nil
}

// host records the status events.
type host struct {
	mu     sync.Mutex
	events []componentstatus.Status
	errs   []error
}

func (*host) GetExtensions() map[component.ID]component.Component { return nil }

func (h *host) Report(event *componentstatus.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, event.Status())
	h.errs = append(h.errs, event.Err())
}

func (h *host) saw() []componentstatus.Status {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]componentstatus.Status(nil), h.events...)
}

// A request encoded by hand: one resource with the attribute k=v, whose key is not in the
// dictionary, and a dictionary whose string table has only its first, empty entry.
var encoded = []byte{
	0x0a, 0x0c, // resource_profiles
	0x0a, 0x0a, // resource
	0x0a, 0x08, 0x0a, 0x01, 'k', 0x12, 0x03, 0x0a, 0x01, 'v', // attributes
	0x12, 0x02, 0x2a, 0x00, // dictionary
}

var quick = configretry.BackOffConfig{Enabled: true, InitialInterval: time.Millisecond,
	Multiplier: 1, MaxInterval: time.Millisecond, MaxElapsedTime: time.Minute}

func deliver(t *testing.T, p *pipeline, retry configretry.BackOffConfig, h *host,
	requests ...request) counts {
	t.Helper()
	q := newQueue(1 << 20)
	d := startDelivery(q, p, retry, newStatus(h), zap.NewNop())
	for _, r := range requests {
		if !q.put(r) {
			t.Fatal("put")
		}
	}
	for end := time.Now().Add(10 * time.Second); q.count().pending > 0; {
		if time.Now().After(end) {
			t.Fatal("not delivered in 10 s")
		}
		time.Sleep(time.Millisecond)
	}
	if err := d.end(context.Background()); err != nil {
		t.Fatal(err)
	}
	return q.count()
}

func TestDelivered(t *testing.T) {
	p, h := &pipeline{}, &host{}
	got := deliver(t, p, quick, h, request{encoded, 3}, request{encoded, 4})
	if got.delivered != 7 || len(got.lost) != 0 || len(p.got) != 2 {
		t.Fatalf("%+v", got)
	}
	value, ok := p.got[0].ResourceProfiles().At(0).Resource().Attributes().Get("k")
	if !ok || value.Str() != "v" {
		t.Error("an attribute whose key is in place is lost")
	}
	if want := []componentstatus.Status{componentstatus.StatusOK}; !reflect.DeepEqual(h.saw(), want) {
		t.Errorf("status: %v", h.saw())
	}
}

func TestTriedAgain(t *testing.T) {
	later := errors.New("later")
	p, h := &pipeline{answers: []error{later, later}}, &host{}
	got := deliver(t, p, quick, h, request{encoded, 3})
	if got.delivered != 3 || p.calls != 3 {
		t.Fatalf("%+v after %d calls", got, p.calls)
	}
	if p.got[0].ResourceProfiles().Len() != 1 {
		t.Error("what a failed try changed is in the next")
	}
	want := []componentstatus.Status{componentstatus.StatusRecoverableError,
		componentstatus.StatusOK}
	if !reflect.DeepEqual(h.saw(), want) {
		t.Errorf("status: %v", h.saw())
	}
}

func TestRefusedForGood(t *testing.T) {
	p := &pipeline{answers: []error{consumererror.NewPermanent(errors.New("no"))}}
	got := deliver(t, p, quick, &host{}, request{encoded, 3}, request{encoded, 4})
	if got.delivered != 4 || got.lost[lostRefused] != 3 || p.calls != 2 {
		t.Fatalf("%+v after %d calls", got, p.calls)
	}
}

func TestBytesOfNoRequest(t *testing.T) {
	p := &pipeline{}
	got := deliver(t, p, quick, &host{}, request{[]byte{0xff, 0xff}, 3})
	if got.lost[lostRefused] != 3 || p.calls != 0 {
		t.Fatalf("%+v", got)
	}
}

func TestGivenUp(t *testing.T) {
	p := &pipeline{forever: errors.New("later")}
	short := quick
	short.MaxElapsedTime = 5 * time.Millisecond
	if got := deliver(t, p, short, &host{}, request{encoded, 3}); got.lost[lostGivenUp] != 3 ||
		p.calls < 2 {
		t.Fatalf("%+v after %d calls", got, p.calls)
	}
	never := quick
	never.Enabled = false
	p = &pipeline{forever: errors.New("later")}
	if got := deliver(t, p, never, &host{}, request{encoded, 3}); got.lost[lostGivenUp] != 3 ||
		p.calls != 1 {
		t.Fatalf("%+v after %d calls", got, p.calls)
	}
}

// At the end each waiting request is tried once more, without a pause.
func TestEndWhileItWaits(t *testing.T) {
	p, q := &pipeline{forever: errors.New("later")}, newQueue(1<<20)
	slow := quick
	slow.InitialInterval, slow.MaxInterval = time.Hour, time.Hour
	slow.MaxElapsedTime = 0
	d := startDelivery(q, p, slow, newStatus(&host{}), zap.NewNop())
	for range 3 {
		q.put(request{encoded, 1})
	}
	if err := d.end(context.Background()); err != nil {
		t.Fatal(err)
	}
	got := q.count()
	if got.lost[lostGivenUp] != 3 || got.pending != 0 || p.calls != 3 {
		t.Fatalf("%+v after %d calls", got, p.calls)
	}
}

// A pipeline that hangs must not block Shutdown, and what it holds must be counted.
func TestEndWhileThePipelineHangs(t *testing.T) {
	p, q := &pipeline{hangs: true}, newQueue(1<<20)
	d := startDelivery(q, p, quick, newStatus(&host{}), zap.NewNop())
	for range 3 {
		q.put(request{encoded, 1})
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	if err := d.end(ctx); err != nil {
		t.Fatal(err)
	}
	if got := q.count(); got.lost[lostGivenUp] != 3 || got.pending != 0 {
		t.Fatalf("%+v", got)
	}
}

func TestQueueIsBounded(t *testing.T) {
	q := newQueue(10)
	if q.put(request{make([]byte, 11), 1}) {
		t.Fatal("more than the queue holds was taken")
	}
	for n := range 4 {
		if !q.put(request{make([]byte, 4), uint64(n + 1)}) {
			t.Fatal("not taken")
		}
	}
	got := q.count()
	if got.lost[lostQueue] != 1+2 || got.pending != 3+4 || got.bytes != 8 {
		t.Fatalf("%+v", got)
	}
	if r, ok := q.take(); !ok || r.samples != 3 {
		t.Fatalf("the oldest is not the first: %+v", r)
	}
}

func TestStatusOfParts(t *testing.T) {
	h := &host{}
	s := newStatus(h)
	bad := errors.New("bad")
	if !s.set("a", bad, false) || s.set("a", bad, false) {
		t.Error("an error is told as new once")
	}
	s.set("b", nil, false)
	s.set("a", nil, false)
	s.set("b", bad, true)
	s.set("b", nil, false) // too late: after a permanent error
	want := []componentstatus.Status{componentstatus.StatusRecoverableError,
		componentstatus.StatusOK, componentstatus.StatusPermanentError}
	if !reflect.DeepEqual(h.saw(), want) {
		t.Errorf("%v", h.saw())
	}
}
