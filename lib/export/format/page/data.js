/* SPDX-License-Identifier: Apache-2.0 */
/* ---- the recording, and the earlier one if two are compared ---- */
const $ = id => document.getElementById(id);
const parse = id => JSON.parse($(id).textContent);
const D = parse('profile');
const S = D.strings, F = D.functions;
const B = parse('before');
/* From a tree's lists by stack, make each node's depth and self value. Stacks are sorted by
   functions. Each adds n nodes from depth d on, and its value s belongs to the last. */
function unpack(t) {
	const { n, d, s, w } = t, nodes = t.f.length;
	let at = 0;
	t.sum = s.reduce((a, b) => a + b, t.o);
	t.f = new Int32Array(t.f);
	t.d = new Int32Array(nodes);
	t.s = new Float64Array(nodes);
	t.w = w && new Uint8Array(nodes);
	for (let i = 0; i < n.length; i++) {
		for (let k = 0; k < n[i]; k++)
			t.d[at++] = d[i] + k;
		t.s[at - 1] = s[i];
		if (w)
			t.w[at - 1] = w[i];
	}
}
for (const x of [D, B])
	if (x)
		x.trees.forEach(unpack);
/* Columns of the tables. */
const NAME = 0, FILE = 1, START = 2, TYPE = 3, MODULE = 4, CLASS = 5;
/* The class of a function's code, as in classes.h. */
const OWN = 0, UNNAMED = 2, LANGUAGE = 3, KERNEL = 6, NONE = 7;

/* The data of B with the numbers of D. Functions match by name and module, kinds by type and unit.
   Processes match by name only, because their numbers differ. */
function adopt() {
	const text = i => (S.push(B.strings[i]), S.length - 1);
	const baseName = path => path.split('/').pop();
	/* Pair each of theirs with one of mine: first if all columns are equal, then if the columns
	   of the next list are, in the order of lines. Two of one name stay two. A list with
	   "alone" pairs only entries that occur once on both sides. "home" is the file of a
	   function without a module, because each script has a function <module>. */
	const same = (mine, theirs, passes, texts, last) => {
		const key = (x, strings, columns) => columns.filter(c => c !== 'alone').map(c =>
			c === 'base' || (c === 'home' && !strings[x[MODULE]]) ? baseName(strings[x[FILE]]) : c === 'home' ? '' : texts.includes(c) ? strings[x[c]] : x[c]).join('\0');
		const known = mine.length, taken = new Set(), found = new Map();
		const grouped = (list, n, used, strings, columns) => {
			const groups = new Map();
			for (const i of [...Array(n).keys()].filter(i => !used.has(i)).sort((a, b) => list[a][START] - list[b][START] || a - b)) {
				const k = key(list[i], strings, columns);
				groups.has(k) ? groups.get(k).push(i) : groups.set(k, [i]);
			}
			return groups;
		};
		for (const columns of passes) {
			const m = grouped(mine, known, taken, S, columns);
			for (const [k, list] of grouped(theirs, theirs.length, found, B.strings, columns)) {
				const others = m.get(k) || [];
				if (columns.includes('alone') && (list.length > 1 || others.length > 1))
					continue;
				list.slice(0, others.length).forEach((i, n) => {
					found.set(i, others[n]);
					taken.add(others[n]);
				});
			}
		}
		return theirs.map((x, i) => {
			let at = found.get(i);
			if (at === undefined && last)
				at = mine.findIndex(y => key(y, S, last) === key(x, B.strings, last));
			if (at === undefined || at < 0)
				at = mine.push(x.map((v, c) => texts.includes(c) ? text(v) : v)) - 1;
			return at;
		});
	};
	const f = same(F, B.functions, [[NAME, MODULE, TYPE, FILE, START], [NAME, MODULE, TYPE, FILE], [NAME, MODULE, TYPE, 'base'],
		[NAME, MODULE, TYPE, 'home', 'alone'], [NAME, MODULE, 'home', 'alone'], [NAME, TYPE, 'base', 'alone'],
		[NAME, TYPE, 'home', 'alone']],
		[NAME, FILE, TYPE, MODULE]);
	/* if each side has one program, they are the same, even under two names */
	const programs = [...[[D.processes, S], [B.processes, B.strings]].map(([list, strings]) => new Set(list.map(p => strings[p[1]])))];
	const p = programs.every(names => names.size === 1) ? B.processes.map(() => 0) :
		same(D.processes, B.processes, [[0, 1, 2, 3, 4], [1, 2, 3], [1]], [1, 2, 3, 4], [1]);
	const k = same(D.kinds, B.kinds, [[0, 1, 2, 3, 4], [0, 1]], [0, 1, 2, 3]);
	for (const t of B.trees)
		D.trees.push({ side: 0, k: k[t.k], p: p[t.p], o: t.o, sum: t.sum, d: t.d, s: t.s, f: t.f.map(x => f[x]) });
}
if (B)
	adopt();
const sideOf = tree => tree.side === 0 ? 0 : 1;

/* For waits for locks, show first their length, not their number. */
function mainKind() {
	const of = type => D.kinds.findIndex(k => S[k[0]] === type), k = D.kinds[D.main_kind];
	return k && S[k[0]] === 'contentions' && of('delay') >= 0 ? of('delay') : D.main_kind;
}
D.main_kind = mainKind();

/* ---- the shown view: everything that a link contains ---- */
const view = {
	kind: D.main_kind, show: 'flame', process: '', thread: '', trace: '', q: '', regex: false,
	hide: false, inverted: false, flipped: false, side: B ? 'both' : 'after', colour: 'self',
	from: 0, to: Infinity, picked: -1,
};
/* The side whose numbers are shown: 0 before, 1 after. */
const told = () => view.side === 'before' ? 0 : 1;
const kindNow = () => D.kinds[view.kind];

function element(tag, text, cls) {
	const e = document.createElement(tag);
	if (text !== undefined)
		e.textContent = text;
	if (cls)
		e.className = cls;
	return e;
}
function button(text, what, title) {
	const b = element('button', text);
	b.type = 'button';
	if (title)
		b.title = title;
	b.addEventListener('click', what);
	return b;
}
