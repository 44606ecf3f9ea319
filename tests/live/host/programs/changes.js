// SPDX-License-Identifier: Apache-2.0
'use strict';
/*
 * changes.js SEED SECONDS FOLDER LOG [DEPTH] - makes, replaces and drops functions at random, and
 * writes what ran when, like changes.py. Run it with --expose-gc.
 */
const { spawnSync } = require('child_process');
const fs = require('fs');
const vm = require('vm');
const { Worker, isMainThread } = require('worker_threads');

const [seed, seconds, folder, logPath, depth = '0'] = process.argv.slice(2);
const long = Number(process.env.CHANGES_LONG || 0);
const DEPTH_MAX = 2;
const APART = 40;
const WARM = 3000;
const log = fs.openSync(logPath, 'a');
const thread = fs.readlinkSync('/proc/thread-self').split('/').pop();
let state = (Number(seed) * 2 + 1) >>> 0;
let count = 0;

function below(n) {
	state ^= state << 13;
	state ^= state >>> 17;
	state ^= state << 5;
	return (state >>> 8) % n;
}

const now = () => process.hrtime.bigint();
const pieceNs = () => 1000000 * (long && !below(long) ? 1100 + below(400) : below(8) ? 1 + below(20) : 20 + below(300));

function burn(ns, inner) {
	inner[0] = now();
	const end = inner[0] + BigInt(ns);
	let x = 1;
	while (now() < end)
		for (let i = 0; i < 500; i++)
			x = (x * 31 + i) & 0xffff;
	inner[1] = now();
	return x;
}

/* rows: [name, file, first, last] of all that is on the stack */
function runMade(fn, rows, shape) {
	const inner = [0n, 0n];
	const outer = now();
	if (shape.startsWith('warm'))
		for (let i = 0; i < WARM; i++)
			fn(0, inner);
	fn(pieceNs(), inner);
	const end = now();
	fs.writeSync(log, rows.map((row) =>
		[thread, ...row, outer, ...inner, end, shape].join('\t') + '\n').join(''));
}

const newName = () => `made_${++count}`;

/* The text of a function at some line, its first and last line. */
function source(name, kind = '') {
	const first = 4 + APART * below(50);
	const body = [`function${kind === 'generator' ? '*' : ''} ${name}(ns, inner) {`, 'let x = 1;'];
	for (let i = below(APART - 8); i > 0; i--)
		body.push(`x = x * ${3 + below(250)} + 7 & 65535;`);
	body.push('x += call(ns, inner) || 1;', kind === 'generator' ? 'yield x;' : 'return x;', '}');
	return [body.join('\n'), first, first + body.length - 1];
}

/* A function, and its row; the text of new Function has two more lines in front. */
function made(name, call = burn, kind = '') {
	const [text, first, last] = source(name, kind);
	const file = `made/${below(4)}.js`;
	const fn = new Function('call', '\n'.repeat(first - 3) + 'return ' + text +
		`\n//# sourceURL=${file}`)(call);
	return [fn, [name, file, first, last]];
}

function changeFunction() {
	const [fn, row] = made(newName());
	const shape = below(2) ? 'function' : 'warm-function';
	runMade(fn, [row], shape);
	if (!below(3))
		runMade(fn, [row], shape);
}

/* One name; code is compiled and thrown away. */
function changeSame() {
	let fn, row;
	for (let i = 2 + below(3); i > 0; i--) {
		if (below(2))
			fn = null;
		[fn, row] = made('made_same');
		runMade(fn, [row], below(2) ? 'same' : 'warm-same');
	}
}

/* What is optimized is so for small integers, and is run with others then. */
function changeDeopt() {
	const [fn, row] = made(newName(), (ns, inner) => burn(ns, inner) && (ns ? 'text' : 1));
	runMade(fn, [row], 'warm-deopt');
	runMade(fn, [row], 'deopt');
}

function changeGenerator() {
	const [fn, row] = made(newName(), burn, 'generator');
	runMade((ns, inner) => fn(ns, inner).next(), [row], 'generator');
}

/* A context of its own, which is dropped. */
function changeScript() {
	const [text, first, last] = source(newName());
	const file = `made/script${below(2)}.js`;
	const fn = vm.runInNewContext(`(${text})`, { call: burn }, { filename: file, lineOffset: first - 1 });
	runMade(fn, [[fn.name, file, first, last]], below(2) ? 'script' : 'warm-script');
}

function changeNested() {
	let [fn, row] = made(newName());
	const rows = [row];
	for (let i = 1 + below(12); i > 0; i--) {
		[fn, row] = made(newName(), fn);
		rows.push(row);
	}
	runMade(fn, rows, below(2) ? 'nested' : 'warm-nested');
}

function give(path, text) {
	const how = below(3);
	if (how === 1)
		fs.rmSync(path, { force: true });
	fs.writeFileSync(how === 2 ? path + '.new' : path, text);
	if (how === 2)
		fs.renameSync(path + '.new', path);
	return ['rewritten', 'unlinked', 'renamed'][how];
}

/* A module's file is written anew, and loaded again. */
function changeModule() {
	const path = `${folder}/plugin_${process.pid}_${thread}_${below(2)}.js`;
	for (let i = 1 + below(4); i > 0; i--) {
		const name = below(2) ? 'made_same' : newName();
		const [text, first, last] = source(name);
		const shape = give(path, '\n'.repeat(first - 1) + text + '\nlet call; module.exports = (c) => { call = c; return ' +
			name + '; };\n');
		delete require.cache[require.resolve(path)];
		module.children.length = 0;
		runMade(require(path)(burn), [[name, path, first, last]], 'require-' + shape);
	}
}

/* Another thread, with a heap of its own, does the same. */
function changeWorker() {
	return new Promise((resolve, reject) => {
		const worker = new Worker(__filename, {
			argv: [below(1 << 30), '0.1', folder, logPath, String(DEPTH_MAX)] });
		worker.on('exit', resolve);
		worker.on('error', reject);
		changeFunction();
	});
}

function changeSpawned() {
	const done = spawnSync(process.execPath, [...process.execArgv, __filename, String(below(1 << 30)),
		'0.3', folder, logPath, String(Number(depth) + 1)], { stdio: 'inherit' });
	if (done.status)
		process.exit(done.status);
}

const changes = [changeFunction, changeFunction, changeSame, changeDeopt, changeGenerator, changeScript,
	changeNested, changeModule, changeModule];
if (Number(depth) < DEPTH_MAX)
	changes.push(changeWorker, changeSpawned);

async function main() {
	const end = now() + BigInt(Math.round(Number(seconds) * 1e9));
	below(2);
	while (now() < end) {
		await changes[below(changes.length)]();
		if (!below(4))
			global.gc();
	}
}

main();
