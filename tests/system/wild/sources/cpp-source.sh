#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# C++ with the standard library's templates: cpp-source.sh CLASSES
set -eu

printf '#include <%s>\n' algorithm functional iostream map memory regex string \
	unordered_map variant vector
awk -v n="$1" 'BEGIN {
	for (i = 0; i < n; i++) {
		printf "struct S%d { int a[%d]; bool operator<(const S%d &o) const ", i, i + 1, i
		printf "{ return a[0] < o.a[0]; } };\n"
		printf "size_t g%d(const std::string &s)\n{\n", i
		printf "\tstd::map<S%d, std::vector<std::string>> m;\n", i
		printf "\tm[S%d{{%d}}].push_back(s);\n", i, i
		printf "\tstd::vector<std::unique_ptr<S%d>> v;\n", i
		printf "\tv.push_back(std::make_unique<S%d>());\n", i
		printf "\tstd::sort(v.begin(), v.end());\n"
		printf "\tstd::function<size_t(int)> f = [&](int x) { return m.size() + x; };\n"
		printf "\treturn f(%d);\n}\n", i
	}
}'
