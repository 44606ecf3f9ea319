/* SPDX-License-Identifier: Apache-2.0 */
/* ---- numbers and words ---- */
/* By type and unit of a kind: its group, its name, and what its values measure. */
const KINDS = {
	'samples/count': ['CPU', 'CPU time', 'of CPU time'],
	'cpu/nanoseconds': ['CPU', 'CPU time', 'of CPU time'],
	'wall/nanoseconds': ['Waits', 'Wall-clock time', 'of wall-clock time'],
	'off_cpu/nanoseconds': ['Waits', 'Off CPU', 'off the CPUs'],
	'off_cpu_wakers/nanoseconds': ['Waits', 'Wakers', 'of sleep ended'],
	'delay/nanoseconds': ['Waits', 'Lock waits', 'of waiting for locks'],
	'contentions/count': ['Waits', 'Lock waits, number', 'waits for locks'],
	'block_io/nanoseconds': ['Disk', 'I/O time', 'of block I/O'],
	'block_io_queue/nanoseconds': ['Disk', 'I/O queued', 'of block I/O in queues'],
	'block_io_service/nanoseconds': ['Disk', 'I/O served', 'of block I/O in devices'],
	'block_io/bytes': ['Disk', 'I/O bytes', 'of block I/O'],
	'block_io/count': ['Disk', 'I/O requests', 'requests to block devices'],
	'alloc_space/bytes': ['Memory', 'Allocated', 'allocated'],
	'alloc_objects/count': ['Memory', 'Allocations', 'allocations'],
	'inuse_space/bytes': ['Memory', 'In use', 'in use'],
	'inuse_objects/count': ['Memory', 'Objects in use', 'objects in use'],
	'memory_growth/bytes': ['Memory', 'Growth', 'of growth'],
	'page_faults/count': ['Memory', 'Page faults', 'page faults'],
	'threads/count': ['State', 'Threads', 'threads'],
	'goroutines/count': ['State', 'Goroutines', 'goroutines'],
	'signals/count': ['Events', 'Signals', 'signals'],
	'events/count': ['Events', 'Probes', 'events'],
};
const GROUPS = ['CPU', 'Waits', 'Disk', 'Memory', 'State', 'Events', 'Other'];
const kindWords = k => (k => Object.hasOwn(KINDS, k) && KINDS[k])(S[k[0]] + '/' + S[k[1]]) || ['Other', `${S[k[0]]} (${S[k[1]]})`, S[k[0]]];
/* Does each sample of the kind stand for the same time? */
const isClock = k => S[k[1]] === 'count' && S[k[3]] === 'nanoseconds' && k[4] > 0;

const grouping = new Intl.NumberFormat('en-US');
function seconds(s) {
	const a = Math.abs(s);
	return a >= 100 ? grouping.format(Math.round(s)) + ' s' : a >= 1 ? s.toFixed(2) + ' s' :
		a >= 1e-3 ? (s * 1e3).toFixed(1) + ' ms' : a ? (s * 1e6).toFixed(a < 1e-5 ? 1 : 0) + ' µs' : '0 s';
}
function bytes(v) {
	const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
	let i = 0;
	for (; Math.abs(v) >= 1024 && i < units.length - 1; i++)
		v /= 1024;
	return (i ? v.toFixed(v < 100 ? 1 : 0) : grouping.format(v)) + ' ' + units[i];
}
/* A value of the shown kind as text. */
function amount(v) {
	const k = kindNow(), unit = S[k[1]];
	return isClock(k) ? seconds(v * k[4] / 1e9) : unit === 'nanoseconds' ? seconds(v / 1e9) :
		unit === 'bytes' ? bytes(v) : grouping.format(v) + (unit === 'count' ? '' : ' ' + unit);
}
/* The value as a number of samples; "" if the kind has no clock. */
function samples(v) {
	return isClock(kindNow()) ? grouping.format(v) + (v === 1 ? ' sample' : ' samples') : '';
}
const percent = (v, all) => (all ? 100 * v / all : 0).toFixed(2) + '%';
/* The sampling error of a share at 95 %, in points. */
function chance(v, n) {
	if (!isClock(kindNow()) || !n)
		return '';
	const p = Math.min(1, Math.max(v, 1) / n), e = 196 * Math.sqrt(p * (1 - Math.min(p, 1 - 1 / n)) / n);
	return e < 0.05 ? '' : ' ±' + (e < 1 ? e.toFixed(1) : Math.round(e));
}
const points = v => (v < 0 ? '−' : '+') + Math.abs(v).toFixed(2) + ' points';

const names = [];	/* of processes: name n is function -2 - n */
const nameNumbers = new Map();
function processFunction(name) {
	let n = nameNumbers.get(name);
	if (n === undefined) {
		n = names.push(name) - 1;
		nameNumbers.set(name, n);
	}
	return -2 - n;
}
const nameOf = f => f === -1 ? 'all' : f < 0 ? names[-2 - f] : S[F[f][NAME]];
const processName = p => S[D.processes[p][1]] || ('pid ' + D.processes[p][0]);
const classOf = f => f < 0 ? NONE : F[f][CLASS];

/* Where a function begins. */
function place(f) {
	const x = F[f];
	return S[x[FILE]] ? S[x[FILE]] + (x[START] ? ':' + x[START] : '') : '';
}
/* The heaviest lines of a function for a kind: [line, value, charged value], largest charged value first. */
let lineRows = null;
function linesOf(f, kind = view.kind) {
	if (!lineRows) {
		lineRows = new Map();
		for (let i = 0; i < D.lines.length; i += 5) {
			const key = D.lines[i] + '/' + D.lines[i + 1];
			lineRows.has(key) || lineRows.set(key, []);
			lineRows.get(key).push(D.lines.slice(i + 2, i + 5));
		}
	}
	return f < 0 ? [] : lineRows.get(kind + '/' + f) || [];
}
/* "FILE:LINE" of a function's hottest line. "" for a process or hidden frames. */
function hotLine(f, kind = view.kind) {
	const l = linesOf(f, kind)[0];
	return l && S[F[f][FILE]] ? S[F[f][FILE]] + ':' + l[0] : '';
}
const shortPath = text => text.split('/').slice(-2).join('/');
