<?php
/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs whose stacks are known. For PHP 7.3 and later, with or without OPcache.
 *
 *   known.php spin SECONDS    a chain of 24 functions f24..f1, then leaf_50, leaf_30 or
 *                             leaf_20, which use 50, 30 and 20 per cent of the CPU time.
 *   known.php scenes SECONDS  every scene in turn. A scene's stack is said first, as PHP's
 *                             own backtrace tells it: "scene NAME", a line a frame (leaf
 *                             first: name, file, line, separated by tabs), an empty line.
 *   known.php calls SECONDS   the chain, then leaf_calls, which calls tick all the time, and
 *                             leaf_callbacks, whose callbacks C code calls.
 *   known.php short MS        work() for that much CPU time; says when it began and ended.
 *
 * After "ready PID" the work begins.
 */
namespace Known;

function out($text)
{
	fwrite(STDOUT, $text);
	fflush(STDOUT);
}

/* Microseconds of CPU time. */
function cpu()
{
	$u = getrusage();
	return ($u["ru_utime.tv_sec"] + $u["ru_stime.tv_sec"]) * 1000000 +
		$u["ru_utime.tv_usec"] + $u["ru_stime.tv_usec"];
}

/* ---- shares ---- */

class Turn
{
	public static $length = 0; /* of the leaf that runs next: some milliseconds */
	public static $number = 1;
	public static $unit = 60000;

	/* A length that changes cannot keep step with the sampling clock. */
	public static function next()
	{
		self::$number = self::$number * 1103515245 + 12345 & 0x7fffffff;
		self::$length = self::$unit + (self::$number >> 8) % self::$unit;
	}

	/* JIT code is ten times as fast: its turns are longer. */
	public static function took($us)
	{
		if ($us < 1000 && self::$unit < 100000000)
			self::$unit = (int)(self::$unit * 1.2);
	}
}

function leaf_50()
{
	$n = $x = Turn::$length;
	while ($n) {
		$x = $x * 3 + $n & 0xffff;
		$n--;
	}
	return $x;
}

function leaf_30()
{
	$n = $x = Turn::$length;
	while ($n) {
		$x = $x * 3 + $n & 0xffff;
		$n--;
	}
	return $x;
}

function leaf_20()
{
	$n = $x = Turn::$length;
	while ($n) {
		$x = $x * 3 + $n & 0xffff;
		$n--;
	}
	return $x;
}

function tick($x)
{
	return $x;
}

function leaf_calls()
{
	$n = 20000;
	while ($n) {
		$n = tick($n) - 1;
	}
	return $n;
}

function add($x)
{
	return $x + 1;
}

function leaf_callbacks()
{
	$numbers = range(1, 50);
	for ($n = 0; $n < 100; $n++)
		$numbers = array_map('Known\add', $numbers);
	return $numbers;
}

function f1($leaf) { return $leaf(); }
function f2($leaf) { return f1($leaf); }
function f3($leaf) { return f2($leaf); }
function f4($leaf) { return f3($leaf); }
function f5($leaf) { return f4($leaf); }
function f6($leaf) { return f5($leaf); }
function f7($leaf) { return f6($leaf); }
function f8($leaf) { return f7($leaf); }
function f9($leaf) { return f8($leaf); }
function f10($leaf) { return f9($leaf); }
function f11($leaf) { return f10($leaf); }
function f12($leaf) { return f11($leaf); }
function f13($leaf) { return f12($leaf); }
function f14($leaf) { return f13($leaf); }
function f15($leaf) { return f14($leaf); }
function f16($leaf) { return f15($leaf); }
function f17($leaf) { return f16($leaf); }
function f18($leaf) { return f17($leaf); }
function f19($leaf) { return f18($leaf); }
function f20($leaf) { return f19($leaf); }
function f21($leaf) { return f20($leaf); }
function f22($leaf) { return f21($leaf); }
function f23($leaf) { return f22($leaf); }
function f24($leaf) { return f23($leaf); }

/* The part of the CPU time that is furthest below its share. */
function choose($used)
{
	$best = 50;
	foreach ($used as $part => $time)
		if ($time / $part < $used[$best] / $best)
			$best = $part;
	return $best;
}

function spin($seconds)
{
	$used = [50 => 0, 30 => 0, 20 => 0];
	$end = microtime(true) + $seconds;
	while (microtime(true) < $end) {
		Turn::next();
		$part = choose($used);
		$before = cpu();
		f24('Known\leaf_' . $part);
		$time = cpu() - $before;
		Turn::took($time);
		$used[$part] += $time;
	}
	foreach ($used as $part => $time)
		out(sprintf("leaf_%d %.4f\n", $part, $time / array_sum($used)));
}

function calls($seconds)
{
	$end = microtime(true) + $seconds;
	while (microtime(true) < $end) {
		f24('Known\leaf_calls');
		f24('Known\leaf_callbacks');
	}
}

/* ---- scenes ---- */

function say()
{
	$trace = debug_backtrace();
	$line = 0; /* work()'s own is that of its loop */
	$file = __FILE__;
	for ($i = 1; $i <= count($trace); $i++) {
		$f = $i < count($trace) ? $trace[$i] : ['function' => '{main}'];
		$name = (isset($f['class']) ? $f['class'] . '::' : '') . $f['function'];
		if (in_array($name, ['include', 'require', 'include_once', 'require_once']))
			$name = 'include';
		out("$name\t$file\t$line\n");
		$file = isset($f['file']) ? $f['file'] : '';
		$line = isset($f['line']) ? $f['line'] : 0;
	}
	out("\n");
}

class Scene
{
	public static $say = false;
	public static $name = '';
}

/* The leaf of every scene. Its loop is the lines of WORK_LOOP. */
function work()
{
	if (Scene::$say) {
		say();
		return 0;
	}
	$x = 7;
	for ($n = 40000; $n; $n--) {
		$x = $x * 3 + $n & 0xffff;
	}
	return $x;
}

function scene_plain()
{
	return work();
}

function in_chain()
{
	return work();
}

function scene_chain()
{
	return f24('Known\in_chain');
}

function recurse($n)
{
	if ($n)
		return recurse($n - 1);
	return work();
}

function scene_recursion()
{
	return recurse(100);
}

function scene_closure()
{
	$f = function ($x) {
		return work();
	};
	return $f(1);
}

class Made implements \ArrayAccess, \IteratorAggregate, \JsonSerializable
{
	public $on = 0;

	public function method() { return work(); }
	public static function make() { return work(); }
	public function closure() { return (function () { return work(); })(); }
	public function __get($name) { return work(); }
	public function __set($name, $value) { work(); }
	public function __call($name, $args) { return work(); }
	public static function __callStatic($name, $args) { return work(); }
	public function __toString() { return (string)work(); }
	public function __invoke($x) { return work(); }
	#[\ReturnTypeWillChange]
	public function offsetGet($i) { return work(); }
	#[\ReturnTypeWillChange]
	public function offsetSet($i, $v) { work(); }
	#[\ReturnTypeWillChange]
	public function offsetExists($i) { return work() > 0; }
	#[\ReturnTypeWillChange]
	public function offsetUnset($i) { work(); }
	#[\ReturnTypeWillChange]
	public function getIterator() { work(); return new \ArrayIterator([1]); }
	#[\ReturnTypeWillChange]
	public function jsonSerialize() { return work(); }
}

class Child extends Made
{
	public function method() { return parent::method(); }
}

class Begun
{
	public function __construct() { work(); }
}

class Ended
{
	public function __destruct() { work(); }
}

function scene_method() { $m = new Child(); return $m->method(); }
function scene_static() { return Made::make(); }
function scene_closure_in_method() { $m = new Made(); return $m->closure(); }
function scene_construct() { return new Begun(); }
function scene_destruct() { $e = new Ended(); unset($e); return 1; }
function scene_destruct_by_assignment() { $e = new Ended(); $e = 1; return $e; }
function scene_get() { $m = new Made(); return $m->none; }
function scene_set() { $m = new Made(); $m->none = 1; return 1; }
function scene_call() { $m = new Made(); return $m->none(1); }
function scene_call_static() { return Made::none(1); }
function scene_to_string() { $m = new Made(); return "a" . $m; }
function scene_invoke() { $m = new Made(); return $m(1); }
function scene_offset_get() { $m = new Made(); return $m[1]; }
function scene_offset_set() { $m = new Made(); $m[1] = 2; return 1; }
function scene_foreach() { $x = 0; foreach (new Made() as $v) $x += $v; return $x; }
function scene_json() { return json_encode(new Made()); }

function key_via_c($x, $y = 0)
{
	work();
	return 0;
}

function scene_array_map() { return array_map('Known\key_via_c', [1]); }
function scene_usort() { $a = [2, 1]; usort($a, 'Known\key_via_c'); return $a; }
function inner_via_c($x) { return array_map('Known\key_via_c', [$x]); }
function scene_map_in_map() { return array_map('Known\inner_via_c', [1]); }

function scene_preg()
{
	return preg_replace_callback('/b/', function ($m) {
		work();
		return 'c';
	}, 'abc');
}

function scene_map_method()
{
	return array_map([new Made(), 'method'], [1]);
}

function generate()
{
	work();
	yield 1;
}

function generate_after()
{
	yield 1;
	work();
}

function scene_generator() { foreach (generate() as $x); return $x; }
function scene_generator_resumed() { foreach (generate_after() as $x); return $x; }
function scene_generator_in_c() { return iterator_to_array(generate()); }

/* Generators that wait for another (yield from) */
function innermost() { work(); yield 1; work(); }
function middle() { $x = yield from innermost(); return $x; }
function outermost() { $x = yield from middle(); return $x; }
function scene_yield_from() { foreach (outermost() as $x); return $x; }
function scene_yield_from_in_c() { return iterator_to_array(outermost()); }
function tree($n) { if ($n) yield from tree($n - 1); else work(); yield $n; }
function scene_yield_from_recursion() { foreach (tree(20) as $x); return $x; }

function scene_eval_closure()
{
	$f = eval('return function () { return \\Known\\work(); };');
	return $f();
}

function scene_eval_other() { return eval("\n\$x = \\Known\\work(); return \$x;"); }

function by_eval()
{
	if (!function_exists('Known\made'))
		eval('namespace Known; function made() { return work(); }');
	return made();
}

function scene_by_eval() { return by_eval(); }
function scene_anonymous_class() { $o = new class { function run() { return work(); } }; return $o->run(); }
function scene_static_closure() { $f = static function () { return work(); }; return $f(); }
function scene_bound_closure()
{
	$f = \Closure::bind(function () { return work(); }, new Made(), Made::class);
	return $f();
}
function scene_from_callable() { $f = \Closure::fromCallable('Known\in_chain'); return $f(); }
function scene_call_user_func() { return call_user_func('Known\in_chain'); }
function scene_variable_function() { $f = 'Known\in_chain'; return $f(); }
function scene_isset() { $m = new Made(); return isset($m[1]); }
function scene_unset() { $m = new Made(); unset($m[1]); return 1; }

/* FFI's functions share one place in memory. */
function compare($a, $b) { work(); return 0; }
class Foreign { public static $c; public static $a; }
function foreign()
{
	if (!Foreign::$c) {
		Foreign::$c = \FFI::cdef('void qsort(void *b, size_t n, size_t s,
			int (*c)(const void *, const void *)); void *bsearch(const void *k,
			const void *b, size_t n, size_t s, int (*c)(const void *, const void *));');
		Foreign::$a = Foreign::$c->new('int[2]');
	}
	return Foreign::$c;
}
function scene_ffi_sort() { $c = foreign(); $c->qsort(Foreign::$a, 2, 4, 'Known\compare'); return 1; }
function scene_ffi_search() { $c = foreign(); $c->bsearch(Foreign::$a, Foreign::$a, 1, 4, 'Known\compare'); return 1; }

function scene_include() { return include __DIR__ . '/included.php'; }
function scene_eval() { return eval("return \\Known\\work();"); }

function scene_catch()
{
	try {
		throw new \Exception('x');
	} catch (\Exception $e) {
		return work();
	} finally {
		$x = 1;
	}
}

function scene_finally()
{
	try {
		return 1;
	} finally {
		work();
	}
}

function scene_autoload()
{
	return is_subclass_of('Known\None' . mt_rand(), 'Known\Made');
}

/* Below a fiber's first function its own C stack ends; PHP's backtrace goes on. */
function scene_fiber()
{
	$fiber = new \Fiber(function () {
		return work();
	});
	return $fiber->start();
}

function in_fiber()
{
	\Fiber::suspend();
	return work();
}

function scene_fiber_resumed()
{
	$fiber = new \Fiber('Known\in_fiber');
	$fiber->start();
	return $fiber->resume();
}

function scene_fiber_in_fiber()
{
	$fiber = new \Fiber(function () {
		return scene_fiber();
	});
	return $fiber->start();
}

function fiber_in_map($x) { return scene_fiber(); }
function scene_fiber_in_map() { return array_map('Known\fiber_in_map', [1]); }

/* Leaves that are internal functions: their stacks are known without a backtrace. */
function scene_internal()
{
	return hash('sha256', Big::$text); // @internal
}

function scene_internal_in_internal()
{
	return array_map('sha1', [Big::$text]); // @internal_in_internal
}

class Big
{
	public static $text = '';
}

function line_of($mark)
{
	foreach (file(__FILE__) as $i => $text)
		if (strpos($text, "// @$mark\n"))
			return $i + 1;
	return 0;
}

function say_internal($names, $scene, $main)
{
	out("scene $scene\n");
	foreach ($names as $name)
		out("$name\t\t0\n");
	out("Known\\scene_$scene\t" . __FILE__ . "\t" . line_of($scene) . "\n");
	out("Known\\scenes\t" . __FILE__ . "\t" . line_of('turn') . "\n");
	out("{main}\t" . __FILE__ . "\t$main\n\n");
}

function scenes($seconds, $main)
{
	$names = [];
	foreach (get_defined_functions()['user'] as $name)
		if (strpos($name, 'known\scene_') === 0 &&
		    (strpos($name, 'fiber') === false || class_exists('Fiber')) &&
		    (strpos($name, 'ffi') === false || extension_loaded('FFI')))
			$names[] = $name;
	$end = microtime(true) + $seconds;
	Scene::$say = true;
	for (;;) {
		foreach ($names as $name) {
			if (Scene::$say && strpos($name, 'internal'))
				continue;
			if (Scene::$say)
				out('scene ' . substr($name, 12) . "\n");
			$name(); // @turn
		}
		if (Scene::$say) {
			say_internal(['hash'], 'internal', $main);
			say_internal(['sha1', 'array_map'], 'internal_in_internal', $main);
			out("ready " . getmypid() . "\n");
		}
		Scene::$say = false;
		if (microtime(true) >= $end)
			break;
	}
}

spl_autoload_register(function ($class) {
	if ($class !== 'Fiber')
		work();
});
Big::$text = str_repeat('x', 200000);
$argument = isset($argv[2]) ? (float)$argv[2] : 1.0;
switch ($argv[1]) {
case 'spin':
	out("ready " . getmypid() . "\n");
	spin($argument);
	break;
case 'calls':
	out("ready " . getmypid() . "\n");
	calls($argument);
	break;
case 'scenes':
	scenes($argument, __LINE__);
	break;
case 'short':
	$used = cpu();
	$begin = microtime(true);
	do {
		scene_plain();
	} while (cpu() - $used < $argument * 1000);
	out(sprintf("short %d %.6f %.6f\n", getmypid(), $begin, microtime(true)));
	break;
}
