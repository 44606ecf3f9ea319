// SPDX-License-Identifier: Apache-2.0

// The words of each line are split, copied and joined again for the sake of small letters.
package main

import "strings"

var kept [][]string

func normalize(line string) []string {
	var out []string
	for _, word := range strings.Fields(line) {
		out = append(out, strings.ToLower(word)+"") // GUILTY
	}
	return out
}

func index(lines []string) int {
	words := 0
	for i, line := range lines {
		found := normalize(line)
		kept[i%len(kept)] = found
		words += len(found)
	}
	return words
}

func main() {
	kept = make([][]string, 200000)
	lines := make([]string, 1000)
	for i := range lines {
		lines[i] = strings.Repeat("The Quick Brown Fox Jumps Over The Lazy Dog ", 5)
	}
	for {
		index(lines)
	}
}
