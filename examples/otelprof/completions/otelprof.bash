# SPDX-License-Identifier: Apache-2.0
# Completion of otelprof for bash. Commands and options are those that --help shows, so that
# nothing here has to follow the program.
_otelprof() {
	local program=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]} words i

	# What follows "--" is another command.
	for ((i = 1; i < COMP_CWORD; i++)); do
		if [[ ${COMP_WORDS[i]} == -- ]]; then
			if ((i + 1 == COMP_CWORD)); then
				mapfile -t COMPREPLY < <(compgen -c -- "$word")
			fi
			return
		fi
	done
	if ((COMP_CWORD == 1)); then
		words=$("$program" --help 2>/dev/null | sed -n 's/^  \([a-z][a-z]*\) .*/\1/p')
	elif [[ $word == -* ]]; then
		words=$("$program" "${COMP_WORDS[1]}" --help 2>/dev/null |
			sed -n 's/^  *\(-.*\)/\1/p' | grep -oE -- '^(-[^ -])?(, )?(--[a-z-]+)?' |
			tr ',' ' ')
	else
		return # a file: bash's own way
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -o default -F _otelprof otelprof
