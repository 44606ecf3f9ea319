// SPDX-License-Identifier: Apache-2.0

package otelprofreceiver

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

const (
	rulesMax = 32 // OTELPROF_FILTER_RULES
	commMax  = 15 // bytes the kernel keeps of a command name
)

// Rule is one rule of the filter, with one condition. The first rule that matches
// decides. If none matches, a filter that includes something excludes the rest.
type Rule struct {
	Action    string        `mapstructure:"action"` // include, exclude
	All       bool          `mapstructure:"all"`
	PID       uint32        `mapstructure:"pid"`
	PIDTree   uint32        `mapstructure:"pid_tree"`
	Comm      string        `mapstructure:"comm"`
	UID       *uint32       `mapstructure:"uid"`
	Cgroup    string        `mapstructure:"cgroup"`
	Container string        `mapstructure:"container"`
	Pod       string        `mapstructure:"pod"`
	MinAge    time.Duration `mapstructure:"min_age"`
	KeepOneIn uint32        `mapstructure:"keep_one_in"`
}

// Kinds of conditions, with the numbers of OTELPROF_FILTER_*.
const (
	ruleAll = iota
	rulePID
	rulePIDTree
	ruleComm
	ruleUID
	ruleCgroup
	ruleMinAge
	ruleContainer
	rulePod
)

// condition returns the kind of the rule's one condition, and its number or text.
func (r *Rule) condition() (kind uint32, number uint64, text string, err error) {
	found := 0
	take := func(given bool, k uint32, n uint64, t string) {
		if given {
			found++
			kind, number, text = k, n, t
		}
	}
	take(r.All, ruleAll, 0, "")
	take(r.PID != 0, rulePID, uint64(r.PID), "")
	take(r.PIDTree != 0, rulePIDTree, uint64(r.PIDTree), "")
	take(r.Comm != "", ruleComm, 0, r.Comm)
	if r.UID != nil {
		take(true, ruleUID, uint64(*r.UID), "")
	}
	take(r.Cgroup != "", ruleCgroup, 0, belowMount(r.Cgroup))
	take(r.Container != "", ruleContainer, 0, r.Container)
	take(r.Pod != "", rulePod, 0, r.Pod)
	take(r.MinAge > 0, ruleMinAge, uint64(r.MinAge), "")
	if found != 1 {
		err = fmt.Errorf("has %d conditions and must have one of all, pid, pid_tree, comm, "+
			"uid, cgroup, container, pod, min_age", found)
	}
	return kind, number, text, err
}

// belowMount converts a path pasted from a shell to the path that the library takes.
func belowMount(path string) string {
	const mount = "/sys/fs/cgroup"
	if path == mount {
		return "/"
	}
	if strings.HasPrefix(path, mount+"/") {
		return path[len(mount):]
	}
	return path
}

func (r *Rule) validate() error {
	if r.Action != "include" && r.Action != "exclude" {
		return fmt.Errorf("action is %q and must be \"include\" or \"exclude\"", r.Action)
	}
	if r.MinAge < 0 {
		return fmt.Errorf("min_age is %v and must not be negative", r.MinAge)
	}
	if len(r.Comm) > commMax {
		return fmt.Errorf("comm is %q: the kernel keeps %d bytes of a command name",
			r.Comm, commMax)
	}
	if strings.Contains(r.Comm+r.Cgroup+r.Container+r.Pod, "\x00") {
		return errors.New("comm, cgroup, container and pod cannot hold a zero byte")
	}
	if r.KeepOneIn > 1 && r.Action == "exclude" {
		return errors.New("keep_one_in goes with \"include\"")
	}
	_, _, _, err := r.condition()
	return err
}

func validateRules(rules []Rule) error {
	if len(rules) > rulesMax {
		return fmt.Errorf("filter has %d rules and may have %d", len(rules), rulesMax)
	}
	for i := range rules {
		if err := rules[i].validate(); err != nil {
			return fmt.Errorf("filter: rule %d: %w", i+1, err)
		}
	}
	return nil
}
