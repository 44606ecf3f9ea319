# SPDX-License-Identifier: Apache-2.0
# Completion of otelprof for fish: commands and options as --help shows them.
function __otelprof_commands
	otelprof --help 2>/dev/null | string replace -rf '^  ([a-z]+) +(.*)' '$1\t$2'
end
function __otelprof_options
	set -l command (commandline -opc)[2]
	otelprof $command --help 2>/dev/null |
		string replace -rf '^ +(?:-\S, |)(--[a-z-]+)\s*[A-Z:.]*\s*(.*)' '$1\t$2'
end
complete -c otelprof -n '__fish_is_first_token' -f -a '(__otelprof_commands)'
complete -c otelprof -n 'not __fish_is_first_token; and string match -q -- "-*" (commandline -ct)' \
	-f -a '(__otelprof_options)'
