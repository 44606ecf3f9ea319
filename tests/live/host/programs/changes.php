<?php
/* SPDX-License-Identifier: Apache-2.0
 *
 * changes.php SEED SECONDS FOLDER LOG [DEPTH] - makes, replaces and drops functions at random, and
 * writes what ran when, like changes.py. Run it with OPcache, for one, and pcntl.
 */
define('LONG', (int)getenv('CHANGES_LONG'));
const DEPTH_MAX = 2;
const APART = 40;
const WARM = 400;

[, $seed, $seconds, $folder, $log_path] = $argv;
$depth = (int)($argv[5] ?? 0);
$log = fopen($log_path, 'a');
$thread = getmypid();
$count = 0;
mt_srand($seed);

function below($n) { return mt_rand(0, $n - 1); }

function piece_ns()
{
	if (LONG && !below(LONG))
		return 1000000 * (1100 + below(400));
	return 1000000 * (below(8) ? 1 + below(20) : 20 + below(300));
}

function burn($ns, &$inner)
{
	$inner[0] = hrtime(true);
	$end = $inner[0] + $ns;
	for ($x = 1; hrtime(true) < $end;)
		for ($i = 0; $i < 200; $i++)
			$x = ($x * 31 + $i) & 0xffff;
	$inner[1] = hrtime(true);
	return $x;
}

/* $rows: [name, file, first, last] of all that is on the stack */
function run_made($fn, $rows, $shape)
{
	global $log, $thread;
	$inner = [0, 0];
	$outer = hrtime(true);
	if (str_starts_with($shape, 'warm'))
		for ($i = 0; $i < WARM; $i++)
			$fn(0, $inner);
	$fn(piece_ns(), $inner);
	$end = hrtime(true);
	$text = '';
	foreach ($rows as $row)
		$text .= implode("\t", [$thread, ...$row, $outer, ...$inner, $end, $shape]) . "\n";
	fwrite($log, $text);
}

function shape($shape) { return below(2) ? $shape : "warm-$shape"; }

function new_name()
{
	global $count, $thread;
	return 'made_' . $thread . '_' . ++$count;
}

/* [the text of a function at some line, its first and last line] */
function source($name, $call = 'burn($ns, $inner)', $end = 'return $x;')
{
	$first = 2 + APART * below(50);
	$body = ["function $name(\$ns, &\$inner) {", '$x = 1;'];
	for ($i = below(APART - 8); $i > 0; $i--)
		$body[] = '$x = $x * ' . (3 + below(250)) . ' + 7 & 65535;';
	array_push($body, "\$x += $call ?: 1;", $end, '}');
	return [str_repeat("\n", $first - 1) . implode("\n", $body), $first, $first + count($body) - 1];
}

/* One of three places of eval(). */
function evaluate($text)
{
	switch (below(3)) {
	case 0: return eval($text);
	case 1: return eval($text);
	default: return eval($text);
	}
}

function change_eval()
{
	$name = new_name();
	[$text, $first, $last] = source($name);
	evaluate($text);
	$shape = shape('eval');
	run_made($name, [[$name, "eval()'d code", $first, $last]], $shape);
	if (!below(3))
		run_made($name, [[$name, "eval()'d code", $first, $last]], $shape);
}

/* All have one name; each is dropped before or after the next one is made. */
function change_closure()
{
	$fn = null;
	for ($i = 1 + below(4); $i > 0; $i--) {
		[$text, $first, $last] = source('');
		if (below(2))
			$fn = null;
		$fn = evaluate(preg_replace("/^\\n/", "\nreturn ", $text) . ";");
		run_made($fn, [['{closure}', "eval()'d code", $first, $last]], shape('closure'));
	}
}

function change_method()
{
	[$text, $first, $last] = source('made_work');
	$object = evaluate('return new class {' . $text . '};');
	run_made([$object, 'made_work'], [['made_work', "eval()'d code", $first, $last]], shape('method'));
}

function change_generator()
{
	$name = new_name();
	[$text, $first, $last] = source($name, 'burn($ns, $inner)', 'yield $x;');
	evaluate($text);
	run_made(function ($ns, &$inner) use ($name) { $name($ns, $inner)->current(); },
		[[$name, "eval()'d code", $first, $last], ['{closure}', basename(__FILE__), __LINE__ - 1, __LINE__ - 1]],
		'generator');
}

function change_nested()
{
	$rows = [];
	$call = 'burn';
	for ($i = 2 + below(12); $i > 0; $i--) {
		$name = new_name();
		[$text, $first, $last] = source($name, $call . '($ns, $inner)');
		evaluate($text);
		$rows[] = [$name, "eval()'d code", $first, $last];
		$call = $name;
	}
	run_made($call, $rows, shape('nested'));
}

function give($path, $text)
{
	$how = below(3);
	if ($how == 1)
		@unlink($path);
	file_put_contents($how == 2 ? "$path.new" : $path, $text);
	if ($how == 2)
		rename("$path.new", $path);
	return ['rewritten', 'unlinked', 'renamed'][$how];
}

/* A file is written anew, and included again: a function, or a closure. */
function change_included()
{
	global $folder, $thread;
	$path = "$folder/plugin_{$thread}_" . below(2) . '.php';
	$fn = null;
	for ($i = 1 + below(4); $i > 0; $i--) {
		$name = below(2) ? '' : new_name();
		[$text, $first, $last] = source($name);
		$shape = give($path, '<?php ' . ($name ? $text : preg_replace('/^\n/', "\nreturn ", $text) . ';'));
		if (function_exists('opcache_invalidate'))
			opcache_invalidate($path, true);
		if (below(2))
			$fn = null;
		$fn = include $path;
		run_made($name ?: $fn, [[$name ?: '{closure}', $path, $first, $last]], shape("include-$shape"));
	}
	if (!below(4) && function_exists('opcache_reset'))
		opcache_reset();
}

/* Processes that have one memory at first, and one OPcache. */
function change_forked()
{
	global $thread;
	$pids = [];
	for ($i = 1 + below(2); $i > 0; $i--) {
		$pid = pcntl_fork();
		if ($pid == 0) {
			$thread = getmypid();
			mt_srand($thread + below(1 << 20));
			for ($n = 1 + below(3); $n > 0; $n--)
				change(DEPTH_MAX);
			posix_kill($thread, SIGKILL);
		}
		$pids[] = $pid;
	}
	foreach ($pids as $pid)
		pcntl_waitpid($pid, $status);
}

function change_executed()
{
	global $folder, $log_path, $depth;
	$seed = below(1 << 30);
	$options = array_slice(explode("\0", file_get_contents('/proc/self/cmdline')), 1);
	$options = array_slice($options, 0, array_search(__FILE__, $options));
	$pid = pcntl_fork();
	if ($pid == 0)
		pcntl_exec(PHP_BINARY, [...$options, __FILE__, $seed, '0.3', $folder, $log_path, $depth + 1]);
	pcntl_waitpid($pid, $status);
	if ($status)
		exit(1);
}

function change($depth)
{
	$kinds = ['eval', 'eval', 'closure', 'method', 'generator', 'nested', 'included', 'included'];
	if ($depth < DEPTH_MAX)
		array_push($kinds, 'forked', 'executed');
	('change_' . $kinds[below(count($kinds))])();
	if (!below(3))
		gc_collect_cycles();
}

$end = hrtime(true) + $seconds * 1e9;
while (hrtime(true) < $end)
	change($depth);
