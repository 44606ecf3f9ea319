// SPDX-License-Identifier: Apache-2.0

// A small service of Go's own library: each answer sorts and counts words.
package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"sort"
	"strings"
)

var text = strings.Repeat("the quick brown fox jumps over the lazy dog and the cat ", 40)

func answer(w http.ResponseWriter, r *http.Request) {
	count := map[string]int{}
	for _, word := range strings.Fields(text + r.URL.Path) {
		count[word]++
	}
	words := make([]string, 0, len(count))
	for word := range count {
		words = append(words, word)
	}
	sort.Strings(words)
	for _, word := range words {
		fmt.Fprintln(w, word, count[word])
	}
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("ready", listener.Addr().(*net.TCPAddr).Port)
	http.HandleFunc("/", answer)
	_ = http.Serve(listener, nil)
}
