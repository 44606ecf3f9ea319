// SPDX-License-Identifier: Apache-2.0

package otelprofreceiver

import (
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
)

// status is what the receiver reports about itself: an error of any of its parts, else
// OK. Only changes are reported.
type status struct {
	mu        sync.Mutex
	host      component.Host
	problems  map[string]error
	permanent bool // no recovery is possible
	last      componentstatus.Status
}

func newStatus(host component.Host) *status {
	return &status{
		host:     host,
		problems: map[string]error{},
		last:     componentstatus.StatusStarting,
	}
}

// set records the state of part; nil means that it works. It returns true if part worked
// before and does not now.
func (s *status) set(part string, err error, permanent bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.permanent {
		return false
	}
	_, before := s.problems[part]
	if err == nil {
		delete(s.problems, part)
	} else {
		s.problems[part] = err
	}
	s.permanent = permanent && err != nil
	s.report()
	return err != nil && !before
}

func (s *status) report() {
	event := componentstatus.NewEvent(componentstatus.StatusOK)
	for _, err := range s.problems {
		event = componentstatus.NewRecoverableErrorEvent(err)
		if s.permanent {
			event = componentstatus.NewPermanentErrorEvent(err)
		}
		break
	}
	if event.Status() != s.last {
		s.last = event.Status()
		componentstatus.ReportStatus(s.host, event)
	}
}
