// SPDX-License-Identifier: Apache-2.0

package main

import (
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

const frameIDBytes = 32 // of a file and an address, as text

type event struct {
	Stack      string `json:"Stacktrace.id"`
	Executable string `json:"process.executable.name"`
	Thread     string `json:"process.thread.name"`
	Service    string `json:"service.name"`
}

// kept is what the indices of Elastic's profiling have.
type kept struct {
	lock   sync.Mutex
	events []event
	stacks map[string]string   // the ids of its frames, root first, in one text
	frames map[string][]string // names, innermost first
	files  map[string]string   // htlhash by name
}

func newKept() *kept {
	return &kept{stacks: map[string]string{}, frames: map[string][]string{},
		files: map[string]string{}}
}

func frameIDs(text string) []string {
	var ids []string
	for at := 0; at+frameIDBytes <= len(text); at += frameIDBytes {
		ids = append(ids, text[at:at+frameIDBytes])
	}
	return ids
}

type action struct {
	Index string `json:"_index"`
	ID    string `json:"_id"`
}

// keep takes a document. Of events there are samples of samples too, which are not counted.
func (k *kept) keep(to action, document json.RawMessage) error {
	k.lock.Lock()
	defer k.lock.Unlock()
	switch {
	case strings.HasPrefix(to.Index, "profiling-events-all"):
		var e event
		if err := json.Unmarshal(document, &e); err != nil {
			return err
		}
		k.events = append(k.events, e)
	case strings.Contains(to.Index, "profiling-stacktraces"):
		var s struct {
			IDs string `json:"Stacktrace.frame.ids"`
		}
		if err := json.Unmarshal(document, &s); err != nil {
			return err
		}
		k.stacks[to.ID] = s.IDs
	case strings.Contains(to.Index, "profiling-stackframes"):
		var f struct {
			Names []string `json:"Stackframe.function.name"`
		}
		if err := json.Unmarshal(document, &f); err != nil {
			return err
		}
		k.frames[to.ID] = f.Names
	case strings.Contains(to.Index, "profiling-executables"):
		return k.executable(document)
	}
	return nil
}

func (k *kept) executable(document json.RawMessage) error {
	var x struct {
		Script struct {
			Params struct {
				ID   string `json:"buildid"`
				Name string `json:"filename"`
			} `json:"params"`
		} `json:"script"`
	}
	if err := json.Unmarshal(document, &x); err != nil {
		return err
	}
	hash, err := base64.RawURLEncoding.DecodeString(x.Script.Params.ID)
	if err != nil {
		return err
	}
	k.files[x.Script.Params.Name] = hex.EncodeToString(hash)
	return nil
}

// bulk takes lines by pairs: what to do, and the document.
func (k *kept) bulk(w http.ResponseWriter, r *http.Request) error {
	var body io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(r.Body)
		if err != nil {
			return err
		}
		body = unzipped
	}
	items := []any{}
	lines := json.NewDecoder(body)
	for lines.More() {
		var what map[string]action
		var document json.RawMessage
		if err := lines.Decode(&what); err != nil {
			return err
		}
		if err := lines.Decode(&document); err != nil {
			return err
		}
		for verb, to := range what {
			if err := k.keep(to, document); err != nil {
				return err
			}
			items = append(items, map[string]any{verb: map[string]any{"status": 201}})
		}
	}
	return json.NewEncoder(w).Encode(map[string]any{"took": 1, "errors": false, "items": items})
}

func (k *kept) handler() http.Handler {
	mux := http.NewServeMux()
	answer := func(path string, fn func(http.ResponseWriter, *http.Request) error) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Elastic-Product", "Elasticsearch") // its client demands it
			w.Header().Set("Content-Type", "application/json")
			if err := fn(w, r); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
			}
		})
	}
	answer("/_bulk", k.bulk)
	answer("/", func(w http.ResponseWriter, _ *http.Request) error {
		_, err := fmt.Fprint(w, `{"version": {"number": "9.2.0"}}`)
		return err
	})
	return mux
}
