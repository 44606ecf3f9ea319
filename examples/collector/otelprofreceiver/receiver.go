// SPDX-License-Identifier: Apache-2.0

package otelprofreceiver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/receiver"
	"go.uber.org/zap"
)

const (
	firstReport = 500 * time.Millisecond // short, so that there is something to see soon
	errorPause  = time.Second            // after a failed poll
	drainRounds = 1000                   // polls after the stop; each does a bounded amount of work
)

// profilesReceiver drives one profiler on a thread of its own. A second goroutine gives
// the requests to the pipeline, so that a slow pipeline does not fill the kernel's ring.
type profilesReceiver struct {
	config   *Config
	settings receiver.Settings
	next     xconsumer.Profiles

	session *session // nil if it does not run
}

// session has what lives from Start to Shutdown.
type session struct {
	config   *Config
	logger   *zap.Logger
	status   *status
	queue    *queue
	delivery *delivery
	metrics  *metrics
	profiler *profiler

	stop  chan struct{} // closed by Shutdown
	ended chan struct{} // closed by the profiler's thread

	mu   sync.Mutex
	last stats
}

// Start begins profiling. With error_mode "ignore" it does not fail.
func (r *profilesReceiver) Start(_ context.Context, host component.Host) error {
	if r.session != nil {
		return errors.New("the receiver runs already")
	}
	for _, note := range r.config.notes {
		r.settings.Logger.Info("a key has no effect here: " + note)
	}
	s := &session{
		config: r.config,
		logger: r.settings.Logger,
		status: newStatus(host),
		queue:  newQueue(r.config.QueueBytes),
		stop:   make(chan struct{}),
		ended:  make(chan struct{}),
	}
	opened := make(chan error)
	go s.run(opened)
	err := <-opened
	if err == nil {
		s.metrics, err = newMetrics(r.settings.MeterProvider, s.snapshot)
		if err != nil {
			s.endProfiler()
		}
	}
	if err != nil {
		return r.startFailed(s, err)
	}
	s.delivery = startDelivery(s.queue, r.next, r.config.Retry, s.status, s.logger)
	r.session = s
	s.logger.Info("profiling", zap.String("libotelprof", libraryVersion()))
	return nil
}

func (r *profilesReceiver) startFailed(s *session, err error) error {
	err = fmt.Errorf("cannot profile: %w", err)
	if r.config.ErrorMode == errorPropagate {
		return err
	}
	s.logger.Error("the Collector goes on without profiles of this host", zap.Error(err))
	s.status.set("profiler", err, true)
	return nil
}

// Shutdown ends sampling and delivers what was sampled, until ctx or shutdown_timeout is
// over.
func (r *profilesReceiver) Shutdown(ctx context.Context) error {
	s := r.session
	if s == nil {
		return nil
	}
	r.session = nil
	ctx, cancel := context.WithTimeout(ctx, r.config.ShutdownTimeout)
	defer cancel()
	s.endProfiler()
	err := s.delivery.end(ctx)
	s.sumUp()
	return errors.Join(err, s.metrics.close())
}

// endProfiler stops and frees the profiler; its samples are in the queue then.
func (s *session) endProfiler() {
	close(s.stop)
	s.profiler.wake()
	<-s.ended
	s.profiler.close()
}

// run is the profiler's thread. It sends once how opening went.
func (s *session) run(opened chan<- error) {
	runtime.LockOSThread() // the reason of a failed call is kept per thread
	defer runtime.UnlockOSThread()
	defer close(s.ended)
	p, err := openProfiler(s.config, s.queue.put, s.logger)
	if err == nil {
		err = p.start()
		if err != nil {
			p.close()
		}
	}
	s.profiler = p
	opened <- err
	if err != nil {
		return
	}
	s.loop()
	s.drain()
}

func (s *session) stopped() bool {
	select {
	case <-s.stop:
		return true
	default:
		return false
	}
}

// jittered is d plus or minus up to jitter of it, so that hosts do not report in step.
func jittered(d time.Duration, jitter float64) time.Duration {
	return max(time.Millisecond, time.Duration(float64(d)*(1+jitter*(2*rand.Float64()-1))))
}

func (s *session) loop() {
	now := time.Now()
	report := now.Add(jittered(min(firstReport, s.config.ReportInterval), s.config.ReportJitter))
	look, dice := now, now
	for !s.stopped() {
		if s.config.ProbabilisticThreshold < 100 && !now.Before(dice) {
			s.note("dice", s.rolled(rand.IntN(100)))
			dice = now.Add(s.config.ProbabilisticInterval)
		}
		s.work(min(report.Sub(now), look.Sub(now)))
		now = time.Now()
		if !now.Before(report) {
			s.note("export", s.profiler.export())
			report = now.Add(jittered(s.config.ReportInterval, s.config.ReportJitter))
		}
		if !now.Before(look) {
			s.note("stats", s.look())
			look = now.Add(s.config.StatsInterval)
		}
	}
}

// work does one step of the library. After an error it pauses.
func (s *session) work(timeout time.Duration) {
	_, err := s.profiler.work(timeout)
	s.note("poll", err)
	if err == nil {
		return
	}
	select {
	case <-s.stop:
	case <-time.After(min(errorPause, max(timeout, 0))):
	}
}

// rolled switches sampling on or off for one interval, by a die of 100 sides. Processes
// are followed in either case.
func (s *session) rolled(die int) error {
	return s.profiler.sample(die < s.config.ProbabilisticThreshold)
}

// drain exports what was sampled from the library.
func (s *session) drain() {
	err := s.profiler.stop()
	for range drainRounds {
		more, workErr := s.profiler.work(0)
		if !more || workErr != nil {
			err = errors.Join(err, workErr)
			break
		}
	}
	if err = errors.Join(err, s.profiler.export(), s.look()); err != nil {
		s.logger.Error("not all that was sampled could be taken out", zap.Error(err))
	}
}

// note reports the state of a part in the status; an error that lasts is logged once.
func (s *session) note(part string, err error) {
	if s.status.set(part, err, false) {
		s.logger.Error("profiling goes on after an error", zap.String("part", part),
			zap.Error(err))
	}
}

// look reads the library's counters and the queue's at the same moment: nothing is put
// into the queue in between.
func (s *session) look() error {
	now, err := s.profiler.stats()
	if err != nil {
		return err
	}
	now.addQueue(s.queue.count())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = now
	return nil
}

// snapshot returns what look saw last.
func (s *session) snapshot() stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// sumUp logs what became of all samples.
func (s *session) sumUp() {
	total := s.snapshot()
	total.setQueue(s.queue.count())
	lost, reasons := uint64(0), ""
	for _, reason := range slices.Sorted(maps.Keys(total.dropped)) {
		if n := total.dropped[reason]; n > 0 {
			lost += n
			reasons += fmt.Sprintf(", %s %d", reason, n)
		}
	}
	pending := ""
	if total.pending > 0 {
		pending = fmt.Sprintf(" + pending %d", total.pending)
	}
	s.logger.Info(fmt.Sprintf("samples: taken %d = exported %d + filtered %d + dropped %d%s%s",
		total.taken, total.exported, total.filtered, lost, pending, reasons))
}
