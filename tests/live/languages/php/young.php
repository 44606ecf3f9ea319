<?php
/* SPDX-License-Identifier: Apache-2.0
 *
 * young.php SECONDS - code that lives for a moment: of an eval() at one of two places, a closure in
 * a line of its own or a function with a name of its own. It burns 10 ms in burn() and is
 * dropped; the next one gets its memory. Says "now NAME LINE PLACE BEGIN END" of each, with the
 * line of its call, the line of the eval() and seconds since the epoch.
 */
namespace Young;

function burn()
{
	$end = hrtime(true) + 10000000;
	for ($x = 0; hrtime(true) < $end;)
		for ($i = 0; $i < 500; $i++)
			$x = ($x * 31 + $i) & 0xffff;
	return $x;
}

function one($code) { return eval($code); } // @one
function two($code) { $x = eval($code); return $x; } // @two

function place($mark)
{
	foreach (file(__FILE__) as $i => $text)
		if (strpos($text, "// @$mark\n"))
			return $i + 1;
	return 0;
}

$places = ['Young\one' => place('one'), 'Young\two' => place('two')];
$end = microtime(true) + (float)$argv[1];
echo "ready " . getmypid() . "\n";
for ($n = 0; microtime(true) < $end; $n++) {
	$at = $n % 5 < 2 ? 'Young\one' : 'Young\two';
	$line = 1 + $n * 7 % 40;
	$name = $n % 3 ? '{closure}' : "made_$n";
	$what = $n % 3 ? 'return function ()' : "function $name()";
	$f = $at('namespace Young;' . str_repeat("\n", $line - 1) . "$what { \$x = burn(); return \$x + 1; };");
	$f = $f ?: "Young\\$name";
	$begin = microtime(true);
	$f();
	printf("now %s %d %d %.6f %.6f\n", $name, $line, $places[$at], $begin, microtime(true));
	$f = null;
}
