/* SPDX-License-Identifier: Apache-2.0 */
/* ---- the recording, and the one before where two are compared ---- */
const $ = id => document.getElementById(id);
const parse = id => JSON.parse($(id).textContent);
const D = parse('profile');
const S = D.strings, F = D.functions;
const B = parse('before');
/* Columns of the tables. */
const NAME = 0, FILE = 1, START = 2, TYPE = 3, MODULE = 4, CLASS = 5;
/* Whose code a function is, as classes.h has it. */
const OWN = 0, LANGUAGE = 2, KERNEL = 5, NONE = 6;

/* What B has, under the numbers of D. A function is the same by name and module, a kind by type
   and unit; processes are told apart by their names alone, because their numbers differ. */
function adopt() {
	const text = i => (S.push(B.strings[i]), S.length - 1);
	/* Pair each of theirs with one of mine: first where all columns are equal, then where the
	   columns of the next list are, in the order of lines. Two of one name stay two. */
	const same = (mine, theirs, passes, texts, last) => {
		const key = (x, strings, columns) =>
			columns.map(c => texts.includes(c) ? strings[x[c]] : x[c]).join('\0');
		const known = mine.length, taken = new Set(), found = new Map();
		const order = (list, n, used) => [...Array(n).keys()].filter(i => !used.has(i))
			.sort((a, b) => list[a][2] - list[b][2] || a - b);
		for (const columns of passes) {
			const m = new Map();
			for (const i of order(mine, known, taken)) {
				const k = key(mine[i], S, columns);
				m.has(k) ? m.get(k).push(i) : m.set(k, [i]);
			}
			for (const i of order(theirs, theirs.length, found)) {
				const at = (m.get(key(theirs[i], B.strings, columns)) || []).shift();
				if (at !== undefined) {
					found.set(i, at);
					taken.add(at);
				}
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
	const f = same(F, B.functions, [[0, 4, 3, 1, 2], [0, 4, 3, 1], [0, 4, 3], [0, 4]], [0, 1, 3, 4]);
	const p = same(D.processes, B.processes, [[0, 1, 2, 3, 4], [1, 2, 3], [1]], [1, 2, 3, 4], [1]);
	const k = same(D.kinds, B.kinds, [[0, 1, 2, 3, 4], [0, 1]], [0, 1, 2, 3]);
	for (const t of B.trees)
		D.trees.push({ side: 0, k: k[t.k], p: p[t.p], o: t.o, d: t.d, s: t.s, f: t.f.map(x => f[x]) });
}
if (B)
	adopt();
const sideOf = tree => tree.side === 0 ? 0 : 1;

/* Of waits for locks it is shown first how long they were, and not how many. */
function mainKind() {
	const of = type => D.kinds.findIndex(k => S[k[0]] === type), k = D.kinds[D.main_kind];
	return k && S[k[0]] === 'contentions' && of('delay') >= 0 ? of('delay') : D.main_kind;
}
D.main_kind = mainKind();

/* ---- what is shown: all that a link can say ---- */
const view = {
	kind: D.main_kind, show: 'flame', process: '', thread: '', trace: '', q: '', regex: false,
	hide: false, inverted: false, flipped: false, side: B ? 'both' : 'after', colour: 'self',
	from: 0, to: Infinity, picked: -1,
};
/* The side whose numbers are told: 0 before, 1 after. */
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
