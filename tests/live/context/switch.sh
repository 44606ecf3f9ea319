#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a switch of context takes, as a table: see switch.c.
#
#     switch.sh SHARED STATIC LIBRARY [CALLS]    the program built both ways, and the library
set -eu

calls=${4:-10000000}
cat <<END
| writer | an empty call, ns | attach | set_span | init | add of 16 bytes |
|---|---|---|---|---|---|
END
"$2" "linked into the program" "$calls"
"$1" "in a shared library" "$calls"
"$2" "by dlopen()" "$calls" "$3"
