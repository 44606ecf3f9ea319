// SPDX-License-Identifier: Apache-2.0

package otelprofreceiver

import (
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v5"
	"go.opentelemetry.io/collector/config/configretry"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"
	"go.uber.org/zap"
)

// cancelGrace is how long a pipeline may take to return once its context is over.
const cancelGrace = time.Second

// delivery takes requests from the queue and gives them to the pipeline, one after
// another.
type delivery struct {
	queue  *queue
	next   xconsumer.Profiles
	retry  configretry.BackOffConfig
	status *status
	logger *zap.Logger

	cancel context.CancelFunc // cancels the context that the pipeline works with
	ending chan struct{}      // closed: try each waiting request once, and end
	ended  chan struct{}
}

func startDelivery(q *queue, next xconsumer.Profiles, retry configretry.BackOffConfig,
	st *status, logger *zap.Logger) *delivery {
	ctx, cancel := context.WithCancel(context.Background())
	d := &delivery{
		queue:  q,
		next:   next,
		retry:  retry,
		status: st,
		logger: logger,
		cancel: cancel,
		ending: make(chan struct{}),
		ended:  make(chan struct{}),
	}
	go d.run(ctx)
	return d
}

// end delivers what waits, trying each request once. When ctx is over, the rest is given
// up. An error says that the pipeline holds a request and does not return.
func (d *delivery) end(ctx context.Context) error {
	close(d.ending)
	select {
	case <-d.ended:
		return nil
	case <-ctx.Done():
	}
	d.cancel()
	for {
		r, ok := d.queue.take()
		if !ok {
			break
		}
		d.queue.done(r, lostGivenUp)
	}
	select {
	case <-d.ended:
		return nil
	case <-time.After(cancelGrace):
		return errors.New("the pipeline does not return from what it was given")
	}
}

func (d *delivery) run(ctx context.Context) {
	defer close(d.ended)
	for last := false; ; {
		r, ok := d.queue.take()
		switch {
		case ok:
			d.queue.done(r, d.deliver(ctx, r))
		case last:
			return
		default:
			select {
			case <-d.queue.ready:
			case <-d.ending:
				last = true
			}
		}
	}
}

// deliver returns "" for a delivered request, or the reason why it was lost.
func (d *delivery) deliver(ctx context.Context, r request) string {
	wait := backoff.ExponentialBackOff{
		InitialInterval:     d.retry.InitialInterval,
		RandomizationFactor: d.retry.RandomizationFactor,
		Multiplier:          d.retry.Multiplier,
		MaxInterval:         d.retry.MaxInterval,
	}
	wait.Reset()
	start := time.Now()
	for {
		err := d.consume(ctx, r)
		d.status.set("delivery", err, false)
		if err == nil {
			return ""
		}
		if consumererror.IsPermanent(err) {
			d.lost(r, lostRefused, err)
			return lostRefused
		}
		pause := wait.NextBackOff()
		over := d.retry.MaxElapsedTime > 0 &&
			time.Since(start)+pause > d.retry.MaxElapsedTime
		if !d.retry.Enabled || over || !d.sleep(pause) {
			d.lost(r, lostGivenUp, err)
			return lostGivenUp
		}
	}
}

// consume gives r to the pipeline once. r is decoded for each try, because a processor
// may have changed the result of the last one.
func (d *delivery) consume(ctx context.Context, r request) error {
	// Up to v0.160 only this unmarshaler keeps attributes whose keys are not in the
	// dictionary.
	e := pprofileotlp.NewExportRequest()
	if err := e.UnmarshalProto(r.bytes); err != nil {
		return consumererror.NewPermanent(err)
	}
	return d.next.ConsumeProfiles(ctx, e.Profiles())
}

// sleep returns false if the receiver ends before the time is over.
func (d *delivery) sleep(pause time.Duration) bool {
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-d.ending:
		return false
	}
}

func (d *delivery) lost(r request, reason string, err error) {
	d.logger.Warn("samples are lost: the pipeline did not take them",
		zap.Uint64("samples", r.samples), zap.String("reason", reason), zap.Error(err))
}
