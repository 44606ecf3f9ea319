// SPDX-License-Identifier: Apache-2.0

package otelprofreceiver

import "sync"

// A request is one encoded ExportProfilesServiceRequest.
type request struct {
	bytes   []byte
	samples uint64
}

// Why samples were lost between the library and the pipeline. The names are the
// library's.
const (
	lostQueue   = "queue"    // the queue was full: the oldest request was dropped
	lostRefused = "refused"  // the pipeline refused it permanently
	lostGivenUp = "given_up" // the time for retries was over
)

// counts says what became of the samples that were put into the queue: put = delivered +
// pending + the sum of lost.
type counts struct {
	delivered uint64
	pending   uint64
	bytes     uint64 // of the waiting requests
	lost      map[string]uint64
}

// queue holds requests for the pipeline, bounded in bytes. One goroutine puts, one takes.
type queue struct {
	limit int
	ready chan struct{} // has an item if there may be something to take

	mu      sync.Mutex
	waiting []request
	bytes   int // bytes of waiting
	counts  counts
}

func newQueue(limit int) *queue {
	return &queue{
		limit:  limit,
		ready:  make(chan struct{}, 1),
		counts: counts{lost: map[string]uint64{}},
	}
}

// put takes ownership of r. It returns false if r alone is larger than the queue.
func (q *queue) put(r request) bool {
	if len(r.bytes) > q.limit {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.bytes+len(r.bytes) > q.limit {
		q.counts.pending -= q.waiting[0].samples
		q.counts.lost[lostQueue] += q.waiting[0].samples
		q.pop()
	}
	q.waiting = append(q.waiting, r)
	q.bytes += len(r.bytes)
	q.counts.pending += r.samples
	select {
	case q.ready <- struct{}{}:
	default:
	}
	return true
}

func (q *queue) pop() request {
	r := q.waiting[0]
	q.waiting[0] = request{}
	q.waiting = q.waiting[1:]
	q.bytes -= len(r.bytes)
	return r
}

// take returns the oldest request, which counts as pending until done.
func (q *queue) take() (request, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		return request{}, false
	}
	return q.pop(), true
}

// done records what became of a taken request: "" for delivered, or why it was lost.
func (q *queue) done(r request, lost string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.counts.pending -= r.samples
	if lost == "" {
		q.counts.delivered += r.samples
		return
	}
	q.counts.lost[lost] += r.samples
}

// count returns a consistent copy of the counts.
func (q *queue) count() counts {
	q.mu.Lock()
	defer q.mu.Unlock()
	c := q.counts
	c.bytes = uint64(q.bytes)
	c.lost = make(map[string]uint64, len(q.counts.lost))
	for reason, n := range q.counts.lost {
		c.lost[reason] = n
	}
	return c
}
