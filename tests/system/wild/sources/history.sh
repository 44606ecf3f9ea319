#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A history for git fast-import: history.sh COMMITS
set -eu

awk -v n="$1" 'BEGIN {
	for (i = 1; i <= n; i++) {
		text = ""
		for (line = 0; line < 300; line++)
			text = text "line " line " of " (line % 7 == i % 7 ? i * 7919 : line) "\n"
		print "commit refs/heads/main"
		print "committer A <a@example.com> " 1700000000 + i * 60 " +0000"
		print "data 4\nwork"
		print "M 100644 inline file" i % 50 ".txt"
		print "data " length(text)
		printf "%s\n", text
	}
}'
