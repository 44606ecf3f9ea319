# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# Many short processes: subshells, pipes, command substitution. For any POSIX shell.
n=0
while :; do
	n=$((n + 1))
	words=$(echo "$n $(expr $n % 97) $(date +%s)" | tr ' ' '\n' | sort | uniq | wc -l)
	(
		cd / || exit
		ls usr bin etc | sed 's/a/b/g' | cut -c1-8 | head -20 >/dev/null
	)
	basename "/a/b/$words" .c >/dev/null
	dirname "/a/b/$n" >/dev/null
	cat /etc/passwd | grep -c root >/dev/null &
	printf '%s\n' "$n" | od -c >/dev/null
	env true
	wait
done
