<?php
// SPDX-License-Identifier: Apache-2.0
// Regular expressions, which PCRE2 compiles to machine code.
function matches(string $s): int {
	return preg_match_all('/(\w+)@(\w+)\.(com|org)|([a-z]+)\s([a-z]+)\s(?=x)|(?:a|b|c)*d(e(f(g)?)?)?/u', $s, $m);
}
function replaced(string $s): int {
	return strlen(preg_replace_callback('/([a-z]+)(\d+)/', fn($m) => strrev($m[1]), $s));
}
$s = str_repeat('hello world abcabcabcd ef foo@bar.com xyzzy42 lorem ipsum ', 60);
while (true)
	matches($s) + replaced($s);
