// SPDX-License-Identifier: Apache-2.0
'use strict';
/*
 * A program whose stacks are known. `known.js WHAT SECONDS`:
 *
 *   scenes  each leaf is reached in another way. At its first time a leaf prints its stack as
 *           V8 itself tells it: "scene NAME:LINE:COLUMN ..." with the leaf first.
 *   awaits  the same for leaves in async functions. The stacks include the functions that await.
 *   spin    a chain of 24 functions, then one of three leaves with 50, 30 and 20 % of the time
 *   calls   hardly anything but calls and returns
 *   inlined three small loops with 50, 30 and 20 % of the time, in functions that are inlined
 *   stubs   three functions with 50, 30 and 20 % of the time, which they spend in a stub of V8's
 *           that has no frame of its own: the look-up of a property in objects of many shapes
 *   deep    the leaves of `spin` below 900 calls of one function
 *
 * "ready" is printed once everything has run. Lines that end with "// MARK" are what a
 * sample's innermost frame may show.
 */
const seconds = Number(process.argv[3] || 10);
const end = Date.now() + seconds * 1000;
const told = new Set();
let toldAll = false; // all scenes have run often enough
let sink = 0;

function cpu() {
	const used = process.cpuUsage();
	return used.user + used.system;
}

/* The frames of files: builtins have none. What waits for this is on the stack in `awaits` alone. */
const awaiting = process.argv[2] === 'awaits';
Error.stackTraceLimit = Infinity;

/* A computed name is the function object's, which no frame leads to by itself. */
function nameOf(site) {
	const name = site.getFunctionName();
	return !name || name.startsWith('[') || (name === 'eval' && site.isEval()) ? '(anonymous)' : name.replace(/ /g, '_');
}

function frames(of) {
	const old = Error.prepareStackTrace;
	Error.prepareStackTrace = (_, sites) => sites;
	const holder = {};
	Error.captureStackTrace(holder, of);
	const sites = holder.stack;
	Error.prepareStackTrace = old;
	return sites.filter((s) => s.getScriptNameOrSourceURL() && (awaiting || !(s.isAsync && s.isAsync())))
		.map((s) => nameOf(s) + ':' + s.getLineNumber() + ':' + s.getColumnNumber());
}

/* What is on the stack above the caller of this, until toldAll: V8 takes long to say it. */
function tell(leaf, name) {
	if (toldAll)
		return;
	const list = frames(tell);
	const key = list.slice(1).join(' ');
	if (!told.has(leaf + key)) {
		told.add(leaf + key);
		console.log('scene ' + leaf + ' ' + name + ' ' + key);
	}
}

/* ---- leaves ---- */
const TURN_US = 10000;
/* What each leaf took above its time, us: a millisecond where nothing is compiled. It is taken off
 * the next time. */
const over = [0, 0, 0];

function leafA(us) {
	const stop = cpu() + us - over[0]; // leaf
	let now = 0; // leaf
	let s = 1; // leaf
	do { // leaf
		for (let i = 0; i < 20000; i++) // leaf
			s = (s * 31 + i) | 0; // leaf
		now = cpu(); // leaf
	} while (now < stop); // leaf
	over[0] = now - stop; // leaf
	return s; // leaf
} // leaf

function leafB(us) {
	const stop = cpu() + us - over[1]; // leaf
	let now = 0; // leaf
	let s = 1; // leaf
	do { // leaf
		for (let i = 0; i < 20000; i++) // leaf
			s = (s * 31 + i) | 0; // leaf
		now = cpu(); // leaf
	} while (now < stop); // leaf
	over[1] = now - stop; // leaf
	return s; // leaf
} // leaf

function leafC(us) {
	const stop = cpu() + us - over[2]; // leaf
	let now = 0; // leaf
	let s = 1; // leaf
	do { // leaf
		for (let i = 0; i < 20000; i++) // leaf
			s = (s * 31 + i) | 0; // leaf
		now = cpu(); // leaf
	} while (now < stop); // leaf
	over[2] = now - stop; // leaf
	return s; // leaf
} // leaf

/* ---- the chain ---- */
let turn = 0;

function f24(us) {
	const t = turn++ % 10;
	if (t < 5)
		return leafA(us);
	if (t < 8)
		return leafB(us);
	return leafC(us);
}
function f23(us) { return f24(us) + 1; }
function f22(us) { return f23(us) + 1; }
function f21(us) { return f22(us) + 1; }
function f20(us) { return f21(us) + 1; }
function f19(us) { return f20(us) + 1; }
function f18(us) { return f19(us) + 1; }
function f17(us) { return f18(us) + 1; }
function f16(us) { return f17(us) + 1; }
function f15(us) { return f16(us) + 1; }
function f14(us) { return f15(us) + 1; }
function f13(us) { return f14(us) + 1; }
function f12(us) { return f13(us) + 1; }
function f11(us) { return f12(us) + 1; }
function f10(us) { return f11(us) + 1; }
function f9(us) { return f10(us) + 1; }
function f8(us) { return f9(us) + 1; }
function f7(us) { return f8(us) + 1; }
function f6(us) { return f7(us) + 1; }
function f5(us) { return f6(us) + 1; }
function f4(us) { return f5(us) + 1; }
function f3(us) { return f4(us) + 1; }
function f2(us) { return f3(us) + 1; }
function f1(us) { return f2(us) + 1; }

function spin() {
	while (Date.now() < end)
		sink += f1(TURN_US);
}

/* ---- a deep stack ---- */
function dig(n) {
	if (n > 0)
		return dig(n - 1) + 1; // dig
	return f24(TURN_US); // dug
}

function deep() {
	while (Date.now() < end)
		sink += dig(900);
}

/* ---- scenes ---- */
let nextLeaf = 0;

/* Every leaf in its share of the time, at the end of each scene. */
function atLeaf(name) {
	tell('leafA', name);
	sink += leafA(TURN_US / 2); // scene
	tell('leafB', name);
	sink += leafB(TURN_US * 3 / 10); // scene
	tell('leafC', name);
	sink += leafC(TURN_US / 5); // scene
	return nextLeaf++;
}

class Base {
	constructor(name) { this.name = name; }
	method() { return atLeaf(this.name); }
	get property() { return atLeaf('getter'); }
	set property(v) { atLeaf('setter'); }
	static of() { return atLeaf('static'); }
	#secret = () => atLeaf('private');
	reveal() { return this.#secret(); }
	[Symbol.toPrimitive]() { return atLeaf('toPrimitive'); }
	toJSON() { return atLeaf('toJSON'); }
}

class Derived extends Base {
	constructor() { super('derived'); atLeaf('constructor'); }
	method() { return super.method() + 1; }
}

function recursion(n) {
	if (n > 0)
		return recursion(n - 1) + 1;
	return atLeaf('recursion');
}

function withClosure(x) {
	return function closure() { return atLeaf('closure') + x; };
}

function* generator() {
	yield 1;
	yield atLeaf('generator');
}

async function asynchronous() {
	await null;
	return atLeaf('async');
}

function tagged(parts) { return atLeaf('tagged') + parts.length; }
function withArguments() { return inner.apply(null, arguments); }
function inner(...rest) { return atLeaf('apply') + rest.length; }
function defaulted(a, b = atLeaf('default')) { return a + b; }
function thrower() { throw new Error(); }
function catcher() {
	try {
		thrower();
	} catch (e) {
		return atLeaf('catch');
	} finally {
		sink++;
	}
}

const evaluated = eval('(function evaluated() { return atLeaf("eval"); })');
const made = new Function('atLeaf', 'return atLeaf("newFunction");');
const arrow = () => atLeaf('arrow');
const bound = Base.prototype.method.bind(new Base('bound'));
const proxy = new Proxy({}, { get: function trap() { return atLeaf('proxy'); } });
const object = { shorthand() { return atLeaf('shorthand'); } };
const vm = require('vm');
const Emitter = require('events');
const Module = require('module');
const emitter = new Emitter().on('event', function listener() { atLeaf('event'); });
const compiled = new Module('scenes');
compiled._compile('module.exports = function inModule(f) {\n\treturn f("module") + 1;\n};', '/scenes/module.js');
const inVm = new vm.Script('(function inVm(f) {\n return f("vm") + 1; })',
	{ filename: '/scenes/vm.js', lineOffset: 20, columnOffset: 7 }).runInThisContext();
const inContext = vm.runInNewContext('(function inContext(f) { return f("context") + 1; })', {},
	{ filename: '/scenes/context.js' });
const withUrl = new Function('f', '\nreturn f("url") + 1;\n//# sourceURL=scenes/template.js');
const evalUrl = (0, eval)('(function evalUrl(f) {\n\n\treturn f("evalUrl") + 1; })\n//# sourceURL=webpack://scenes/one.js');
const withScope = new Function('o', 'with (o)\n\treturn call("with") + 1;\n//# sourceURL=scenes/with.js');

/* Of a syntax that older versions do not have; null there. */
function modern(text) {
	try {
		return vm.runInThisContext('(function modern(atLeaf) {\n' + text + '\n})', { filename: '/scenes/modern.js' });
	} catch (e) {
		return null;
	}
}
const privateMethod = modern('new (class P { #m() { return atLeaf("privateMethod"); } m() { return this.#m(); } })().m()');
const staticBlock = modern('return class S { static { atLeaf("staticBlock"); } }');
const optionalCall = modern('const o = { f() { return atLeaf("optional"); } }; return o?.f?.()');
const logical = modern('const o = {}; o.x ??= atLeaf("logical"); return o.x');

function* delegating() { yield* generator(); }
async function* asyncGenerator() { yield atLeaf('asyncGenerator'); await null; yield atLeaf('asyncGenerator2'); }
async function forAwait() {
	for await (const x of asyncGenerator())
		sink += x;
}
async function rejected() {
	try {
		await Promise.reject(new Error());
	} catch (e) {
		atLeaf('rejected');
	}
}
function fewer(a, b, c, d, e) { return atLeaf('fewer') + (e ? 1 : 0); }
function withParameters(a, g = () => atLeaf('parameters') + a) { return g(); }
function returns() {
	try {
		return atLeaf('try');
	} finally {
		sink += atLeaf('finally');
	}
}
function closing() {
	const closed = { [Symbol.iterator]: () => closed, next() { return { value: 1, done: false }; },
		return() { sink += atLeaf('return'); return {}; } };
	for (const x of closed)
		break;
}
class Fields { field = atLeaf('field'); static arrow = () => atLeaf('fieldArrow'); }

const scenes = [
	function plain() { atLeaf('plain'); },
	function method() { new Base('method').method(); },
	function derived() { new Derived().method(); },
	function getter() { sink += new Base('g').property; },
	function setter() { new Base('s').property = 1; },
	function ofClass() { Base.of(); },
	function secret() { new Base('p').reveal(); },
	function toPrimitive() { sink += +new Base('t'); },
	function recursive() { recursion(12); },
	function closures() { withClosure(3)(); },
	function map() { [1].map(function callback() { return atLeaf('map'); }); },
	function forEach() { [1].forEach(() => atLeaf('forEach')); },
	function sort() { const once = { done: false };
		[2, 1].sort(function compare(a, b) {
			if (!once.done) {
				once.done = true;
				atLeaf('sort');
			}
			return a - b;
		}); },
	function reduce() { [1].reduce((sum) => sum + atLeaf('reduce'), 0); },
	function replace() { 'a'.replace(/a/, () => String(atLeaf('replace'))); },
	function json() { JSON.stringify({ a: new Base('json') }); },
	function generated() { for (const x of generator()) sink += x; },
	function apply() { withArguments(1, 2, 3); },
	function byDefault() { defaulted(1); },
	function template() { sink += tagged`a${1}b`; },
	function caught() { catcher(); },
	function evaluates() { evaluated(); },
	function makes() { made(atLeaf); },
	function arrows() { arrow(); },
	function binds() { bound(); },
	function traps() { sink += proxy.anything; },
	function shorthand() { object.shorthand(); },
	function reflect() { Reflect.apply(arrow, null, []); },
	function setOf() { new Set([1]).forEach(() => atLeaf('set')); },
	function delegates() { for (const x of delegating()) sink += x; },
	function spreads() { sink += [...delegating()].length; },
	function destructures() { const [a = atLeaf('destructuring')] = []; sink += a; },
	function closes() { closing(); },
	function arrayFrom() { Array.from([1], function mapper() { return atLeaf('from'); }); },
	function find() { [1].find(() => atLeaf('find') < 0); },
	function filter() { [1].filter((x) => atLeaf('filter') + x); },
	function flatMap() { [1].flatMap((x) => [atLeaf('flatMap') + x]); },
	function reduceRight() { [1].reduceRight((sum) => sum + atLeaf('reduceRight'), 0); },
	function typed() { new Int8Array(1).map(() => atLeaf('typed')); },
	function mapOf() { new Map([[1, 2]]).forEach(() => atLeaf('mapOf')); },
	function valueOf() { sink += +{ valueOf() { return atLeaf('valueOf'); } }; },
	function toText() { sink += `${{ toString() { return String(atLeaf('toText')); } }}`.length; },
	function revive() { JSON.parse('1', function reviver() { return atLeaf('reviver'); }); },
	function replaces() { JSON.stringify(1, function replacer() { return atLeaf('replacer'); }); },
	function constructs() { Reflect.construct(Derived, []); },
	function applies() { new Proxy(arrow, { apply() { return atLeaf('proxyApply'); } })(); },
	function proxyNew() { new (new Proxy(Base, { construct() { return { a: atLeaf('proxyNew') }; } }))(); },
	function proxySet() { new Proxy({}, { set() { atLeaf('proxySet'); return true; } }).x = 1; },
	function boundTwice() { bound.bind(null)(); },
	function callCall() { Function.prototype.call.call(arrow, null); },
	function fewerArguments() { fewer(1); },
	function moreArguments() { arrow(1, 2, 3, 4, 5, 6); },
	function manyArguments() { inner.apply(null, new Array(100)); },
	function parameters() { withParameters(1); },
	function finallyCalls() { returns(); },
	function fields() { sink += new Fields().field; },
	function fieldArrow() { Fields.arrow(); },
	function emits() { emitter.emit('event'); },
	function inModule() { compiled.exports(atLeaf); },
	function runsInVm() { inVm(atLeaf); },
	function runsInContext() { inContext(atLeaf); },
	function urls() { withUrl(atLeaf); },
	function evalUrls() { evalUrl(atLeaf); },
	function scoped() { withScope({ call: atLeaf }); },
	...[privateMethod, staticBlock, optionalCall, logical].filter(Boolean)
		.map((made) => function ofModern() { made(atLeaf); }),
];

function runScenes() {
	for (const scene of scenes)
		scene();
	asynchronous();
	forAwait();
	rejected();
	Promise.resolve().then(function fulfilled() { atLeaf('then'); });
	process.nextTick(function ticked() { atLeaf('tick'); });
	setTimeout(function timed() { atLeaf('timer'); }, 0);
}

function scenesLoop(round) {
	runScenes();
	if (round == 4) {
		toldAll = true;
		console.log('ready');
	}
	if (Date.now() < end)
		setImmediate(scenesLoop, round + 1);
}

/* ---- functions that await each other ---- */
async function leaf(name) {
	await null;
	return atLeaf(name);
}
async function below(name) { return await leaf(name) + 1; }
async function nested(n) { return n ? await nested(n - 1) + 1 : await leaf('nested'); }
async function* yields() { yield await leaf('yields'); }
async function* yieldsTwice() { for await (const x of yields()) yield x; }
async function fails() {
	await leaf('fails');
	throw new Error();
}
async function shared(promise) { return await promise; }
/* It is resolved by its own promise, which it returns late enough to be awaited. */
async function returnsOne() {
	await null;
	const one = (async function one() {
		await null;
		await null;
		await null;
		await null;
		return atLeaf('returned');
	})();
	return one;
}

const awaited = [
	async function one() { await leaf('one'); },
	async function two() { await below('two'); },
	async function deepAwait() { await nested(12); },
	async function all() { await Promise.all([below('all'), null]); },
	async function derivedPromise() { await below('then').then((x) => x + 1); },
	async function finallyPromise() { await below('finally').finally(() => null); },
	async function iterates() { for await (const x of yieldsTwice()) sink += x; },
	async function returned() { await returnsOne(); },
	async function catches() {
		try {
			await fails();
		} catch (e) {
			await below('caught');
		}
	},
	async function afterReject() {
		try {
			await Promise.reject(new Error());
		} catch (e) {
			atLeaf('afterReject');
		}
	},
	async function ofTwo() {
		const promise = below('ofTwo');
		await Promise.all([shared(promise), shared(promise)]);
	},
	async function synchronous() { await (async function calls() { await null; arrow(); })(); },
	{ async method() { await below('method'); } }.method,
	async function run() { await (async () => { await below('arrow'); })(); },
	/* V8's own stacks do not follow it before. */
	...(parseInt(process.versions.node) < 18 ? [] : [async function settled() {
		await Promise.allSettled([below('settled')]); }]),
];

async function awaitsLoop() {
	for (let round = 0; Date.now() < end; round++) {
		for (const scene of awaited)
			await scene();
		if (round === 4) {
			toldAll = true;
			console.log('ready');
		}
	}
}

/* ---- calls ---- */
function c8(n) { return n + 1; } // c8
function c7(n) { return c8(n) + c8(n + 1); } // c7
function c6(n) { return c7(n) + c7(n + 1); } // c6
function c5(n) { return c6(n) + c6(n + 1); } // c5
function c4(n) { return c5(n) + c5(n + 1); } // c4
function c3(n) { return c4(n) + c4(n + 1); } // c3
function c2(n) { return c3(n) + c3(n + 1); } // c2
function c1(n) { return c2(n) + c2(n + 1); } // c1

function calls() {
	while (Date.now() < end)
		for (let i = 0; i < 1000; i++)
			sink += c1(i);
}

/* ---- functions that the optimizing compilers put into their caller ---- */
function partA(s) {
	for (let i = 0; i < 500; i++) // partA
		s = (s * 31 + i) | 0; // partA
	return s; // partA
} // partA

function partB(s) {
	for (let i = 0; i < 300; i++) // partB
		s = (s * 31 + i) | 0; // partB
	return s; // partB
} // partB

function partC(s) {
	for (let i = 0; i < 200; i++) // partC
		s = (s * 31 + i) | 0; // partC
	return s; // partC
} // partC

function join(s) { return partC(partB(partA(s))); } // join
function around(s) { return join(s + 1); } // around

function inlined() {
	while (Date.now() < end)
		for (let i = 0; i < 1000; i++)
			sink = around(sink);
}

/* ---- time in stubs without a frame ---- */
const shapes = Array.from({ length: 64 }, (_, i) => {
	const shape = {};
	shape['only' + i] = i;
	shape.size = i;
	return shape;
});

function loadA(us) {
	const stop = cpu() + us; // load
	let s = 1; // load
	do { // load
		for (let i = 0; i < 20000; i++) // load
			s = (s + shapes[i & 63].size) | 0; // load
	} while (cpu() < stop); // load
	return s; // load
} // load

function loadB(us) {
	const stop = cpu() + us; // load
	let s = 1; // load
	do { // load
		for (let i = 0; i < 20000; i++) // load
			s = (s + shapes[i & 63].size) | 0; // load
	} while (cpu() < stop); // load
	return s; // load
} // load

function loadC(us) {
	const stop = cpu() + us; // load
	let s = 1; // load
	do { // load
		for (let i = 0; i < 20000; i++) // load
			s = (s + shapes[i & 63].size) | 0; // load
	} while (cpu() < stop); // load
	return s; // load
} // load

function loads(n) {
	if (n < 5)
		return loadA(1000);
	if (n < 8)
		return loadB(1000);
	return loadC(1000);
}

function stubs(until) {
	for (let n = 0; Date.now() < until; n++)
		sink += loads(n % 10);
}

/* ---- WebAssembly that calls JavaScript, and then works itself ---- */

// (import "m" "f" (func (param i32)))
// (func (export "go") (param i32) (local i32)
//   local.get 0  call 0
//   i32.const 300000  local.set 1
//   loop  local.get 1  i32.const 1  i32.sub  local.tee 1  br_if 0  end)
const WASM = Buffer.from('0061736d01000000' + '01050160017f00' + '020701016d01660000' +
	'03020100' + '07060102676f0001' +
	'0a1c011a01017f2000100041e0a71221010340200141016b22010d000b0b', 'hex');

function wasmLeaf(us) {
	sink += leafA(us);
}

function wasmCaller(go) {
	go(100);
}

function wasm() {
	const instance = new WebAssembly.Instance(new WebAssembly.Module(WASM),
		{ m: { f: wasmLeaf } });
	for (let n = 0; Date.now() < end; n++) {
		wasmCaller(instance.exports.go);
		if (n === 1000)
			console.log('ready');
	}
}

switch (process.argv[2]) {
case 'wasm':
	wasm();
	break;
case 'scenes':
	scenesLoop(0);
	break;
case 'awaits':
	awaitsLoop();
	break;
case 'calls':
	for (let i = 0; i < 100; i++)
		sink += c1(i);
	console.log('ready');
	calls();
	break;
case 'stubs':
	stubs(Date.now() + 1000);
	console.log('ready');
	stubs(end);
	break;
case 'deep':
	dig(900);
	console.log('ready');
	deep();
	break;
case 'inlined':
	for (let i = 0; i < 1000; i++)
		sink = around(sink);
	console.log('ready');
	inlined();
	break;
default:
	f1(1000);
	console.log('ready');
	spin();
}
