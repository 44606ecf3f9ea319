// SPDX-License-Identifier: Apache-2.0
// A small shop in Go: JSON, a template, regular expressions, sorting. /profile?seconds=N is what
// net/http/pprof does, with 500 samples a second in place of 100.
package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"os"
	"regexp"
	"runtime"
	"runtime/pprof"
	"sort"
	"strconv"
	"strings"
	"time"
)

type item struct {
	ID    int      `json:"id"`
	Name  string   `json:"name"`
	Tags  []string `json:"tags"`
	Price float64  `json:"price"`
	Score int      `json:"score"`
}

var (
	items []item
	words = regexp.MustCompile(`(\w+) (\d+) of (\d+)`)
	page  = template.Must(template.New("page").Parse(
		`<ul>{{range .}}<li>{{.Name}}: {{printf "%.2f" .Price}}</li>{{end}}</ul>`))
)

func score(name string) int {
	found := words.FindStringSubmatch(name)
	a, _ := strconv.Atoi(found[2])
	b, _ := strconv.Atoi(found[3])
	return (a + b) % 97
}

func search(limit int) []item {
	out := make([]item, 0, len(items))
	for _, i := range items {
		i.Score = score(i.Name)
		out = append(out, i)
	}
	sort.Slice(out, func(a, b int) bool { return out[a].Score < out[b].Score })
	return out[:limit]
}

func mixed(text string) string {
	sum := sha256.Sum256([]byte(text))
	return strings.ToUpper(fmt.Sprintf("%x", sum))
}

func main() {
	for n := 0; n < 200; n++ {
		items = append(items, item{n, fmt.Sprintf("item %d of %d", n, n*7919%1000),
			[]string{"a" + strconv.Itoa(n%7), "b"}, float64(n) * 3.25, 0})
	}
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if err := page.Execute(w, search(30)); err != nil {
			panic(err)
		}
	})
	http.HandleFunc("/api", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Sum", mixed(r.URL.String()))
		if err := json.NewEncoder(w).Encode(search(60)); err != nil {
			panic(err)
		}
	})
	http.HandleFunc("/profile", func(w http.ResponseWriter, r *http.Request) {
		seconds, _ := strconv.Atoi(r.URL.Query().Get("seconds"))
		runtime.SetCPUProfileRate(500) // StartCPUProfile says that it cannot change it
		if err := pprof.StartCPUProfile(w); err != nil {
			panic(err)
		}
		time.Sleep(time.Duration(seconds) * time.Second)
		pprof.StopCPUProfile()
	})
	fmt.Println("ready")
	panic(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
