#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# C that keeps a compiler busy: c-source.sh FUNCTIONS
set -eu

echo '#include <string.h>'
awk -v n="$1" 'BEGIN {
	for (i = 0; i < n; i++) {
		printf "int f%d(int *p, int n)\n{\n\tint s = %d;\n", i, i
		printf "\tfor (int i = 0; i < n; i++) {\n"
		printf "\t\tif (p[i] > s)\n\t\t\ts += p[i] * %d;\n", i + 3
		printf "\t\telse\n\t\t\ts ^= p[(i * %d) %% (n + 1)];\n", i + 7
		printf "\t\tswitch (s & 7) {\n"
		for (c = 0; c < 8; c++)
			printf "\t\tcase %d: s = s * %d + %d; break;\n", c, i + c + 1, c
		printf "\t\t}\n\t}\n\treturn s + (int)strlen((char *)p);\n}\n"
	}
}'
