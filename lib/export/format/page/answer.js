/* SPDX-License-Identifier: Apache-2.0 */
/* ---- the answer: whose code the time goes to, and on which line ---- */
const OWN_ROWS = 5, OWN_PART = 0.3, SMALL_PART = 0.02;
const CLASSES = ['your code', 'libraries', 'code without names', 'language library', 'runtime', 'C library', 'kernel', 'stacks cut short'];
/* A stack is charged to the innermost frame of the best class: a program's own code before
   libraries, and libraries before the C library and the kernel. */
function charges(kind = view.kind) {
	const sums = new Map(), idle = new Map();
	const add = (map, key, v) => map.set(key, (map.get(key) || 0) + v);
	for (const [n, tree] of chosenTrees(kind)) {
		if (sideOf(tree) !== told())
			continue;
		const { s } = valuesOf(n, tree), best = [];
		for (let i = 0; i < tree.f.length; i++) {
			const d = tree.d[i], f = tree.f[i], above = d ? best[d - 1] : -1;
			best[d] = above >= 0 && F[above][CLASS] < F[f][CLASS] ? above : f;
			if (!s[i])
				continue;
			/* the reason of a wait; the numbers of idle threads follow */
			const w = tree.w ? tree.w[i] : 0, key = best[d] * WAITS + w % WAITS;
			add(sums, key, s[i]);
			if (w >= WAITS)
				add(idle, key, s[i]);
		}
	}
	const rows = [...sums].map(([k, v]) => [Math.floor(k / WAITS), v, k % WAITS, (idle.get(k) || 0) > v / 2]);
	/* drop small rows, because idle rows come last and must fit */
	const least = idle.size ? SMALL_PART * rows.reduce((n, r) => n + (r[3] ? 0 : r[1]), 0) : 0;
	return rows.filter(r => r[3] || r[1] >= least).sort((a, b) => a[3] - b[3] || b[1] - a[1]);
}
const WAITS = D.waits.length;
function waitsFor(kind, wait, idle) {
	return !WAIT_TYPES.includes(S[D.kinds[kind][0]]) ? '' : wait ? ` for ${D.waits[wait]}${idle ? ', mostly idle' : ''}` : ' on a CPU';
}
/* A function has one hottest line, not one for each wait in it: only its largest row shows it. */
const isLargest = ([f, v], rows) => !rows.some(r => r[0] === f && r[1] > v);
function ownRow([f, v, wait, idle], all, rows) {
	const li = element('li'), share = element('span', percent(v, all), 'share');
	share.append(element('span', chance(v, all), 'dim'));
	const many = samples(v), amounts = element('span', amount(v), 'dim');
	amounts.title = many;
	const name = element('span', undefined, 'where');
	name.append(button(nameOf(f), () => pick(f), 'Callers and callees of ' + nameOf(f)));
	name.append(element('span', waitsFor(view.kind, wait, idle), 'dim'));
	if (F[f][CLASS] !== OWN)
		name.append(element('span', ' ' + CLASSES[F[f][CLASS]], 'dim'));
	if (isClock(kindNow()) && v < 10)
		name.append(element('span', ' few samples', 'dim'));
	const place = isLargest([f, v], rows) ? hotLine(f) : S[F[f][FILE]];
	const line = element('span', shortPath(place) || shortPath(S[F[f][MODULE]]), 'dim where');
	const lines = linesOf(f), charged = lines.reduce((n, l) => n + l[2], 0), alone = rows.filter(r => r[0] === f).length === 1;
	if (lines.length && charged && alone)
		line.textContent += lines[0][2] < charged ? ` (${Math.round(100 * lines[0][2] / charged)}% of it)` : '';
	line.title = place || S[F[f][MODULE]];
	li.append(share, amounts, name, line);
	return li;
}
/* Threads that wait for a lock at the end of the recording, by function. Their waits have no end,
   so they have no value in the shown kind. They may be deadlocked. */
const WAIT_TYPES = ['off_cpu', 'delay', 'contentions', 'wall'];
const threadsKind = () => D.kinds.findIndex(k => S[k[0]] === 'threads');
function lockedThreads() {
	const kind = threadsKind(), sum = new Map();
	if (kind < 0 || !WAIT_TYPES.includes(S[kindNow()[0]]))
		return [];
	for (const [, { d, f, locked }] of treesOf(kind).filter(([, t]) => isOfProcess(t))) {
		const best = [], values = new Map();
		for (let i = 0; i < locked.length; i += 2)
			values.set(locked[i], (values.get(locked[i]) || 0) + locked[i + 1]);
		for (let i = 0; values.size && i < f.length; i++) {
			const above = d[i] ? best[d[i] - 1] : -1;
			best[d[i]] = above >= 0 && F[above][CLASS] < F[f[i]][CLASS] ? above : f[i];
			if (values.has(i))
				sum.set(best[d[i]], (sum.get(best[d[i]]) || 0) + values.get(i));
		}
	}
	return [...sum].sort((a, b) => b[1] - a[1]).slice(0, 3);
}
/* Allocations that were not freed contain a leak, if there is one. All programs keep a little. */
const KEPT_PART = 0.1;
const keptKind = () => S[kindNow()[0]] === 'alloc_space' ? D.kinds.findIndex(k => S[k[0]] === 'inuse_space') : -1;
function kept() {
	const rows = keptKind() < 0 ? [] : charges(keptKind()), all = rows.reduce((n, r) => n + r[1], 0);
	return rows.slice(0, 3).filter(r => r[1] >= all * KEPT_PART);
}
/* A row of another kind at the top of the answer. */
function endRow(f, kind, share, words) {
	const li = element('li'), name = element('span', undefined, 'where');
	name.append(button(nameOf(f), () => chooseKind(kind), `Show ${kindWords(D.kinds[kind])[1]}`));
	li.append(element('span', share, 'share'), element('span', words, 'dim'), name,
		element('span', shortPath(hotLine(f, kind)) || shortPath(S[F[f][MODULE]]), 'dim where'));
	return li;
}
const endRows = () => [
	...lockedThreads().map(([f, n]) => endRow(f, threadsKind(), `${n} thread${n === 1 ? '' : 's'}`, 'in a lock at the end')),
	...kept().map(([f, v]) => endRow(f, keptKind(), bytes(v), 'still in use at the end')),
];
/* From the root to the child with most of the time, as long as there is one: frames up to class
   last. */
function hottestPath(last) {
	const path = [];
	for (let i = 0; ;) {
		let best = -1;
		for (let k = T.first[i]; k < T.first[i + 1]; k++)
			if (best < 0 || T.total[T.kids[k]] > T.total[best])
				best = T.kids[k];
		if (best < 0 || T.total[best] < T.total[0] / 10 || T.total[best] < T.total[i] / 3)
			return path;
		i = best;
		if (classOf(T.fn[i]) <= last)
			path.push(i);
	}
}
function fillPath(last) {
	const path = view.inverted ? [] : hottestPath(last), shown = path.slice(-7), out = $('path');
	out.replaceChildren();
	if (!shown.length)
		return;
	out.append(element('span', 'Hottest path: ', 'dim'));
	if (path.length > shown.length)
		out.append(element('span', '… › ', 'dim'));
	shown.forEach((i, k) => {
		const f = T.fn[i], line = shortPath(hotLine(f));
		out.append(button(nameOf(f), () => {
			if (view.show !== 'flame')
				setShow('flame');
			zoomTo({ pane: panes[0], i });
		}, 'Zoom to it'), element('span', ` ${(100 * T.total[i] / (T.total[0] || 1)).toFixed(0)}%${line ? ' ' + line : ''}${k + 1 < shown.length ? ' › ' : ''}`, 'dim'));
	});
}
function sentence() {
	const k = kindNow(), all = T.all[told()], words = kindWords(k), parts = [];
	parts.push((isClock(k) || S[k[1]] !== 'count' ? amount(all) : grouping.format(all)) + ' ' + words[2]);
	const time = isWhole() ? D.duration_ms / 1e3 : rangeSeconds();
	if (time > 0 && S[k[3]] === 'nanoseconds' && isClock(k))
		parts.push(`in ${seconds(time)}: ${(all * k[4] / 1e9 / time).toFixed(2)} CPUs busy`);
	else if (time > 0)
		parts.push('in ' + seconds(time));
	return parts.join(' ') + `, ${grouping.format(T.processes)} ${T.processes === 1 ? 'process' : 'processes'}`;
}
/* With two recordings: the largest changes of self time. */
function changedRow(r) {
	const li = element('li');
	const name = element('span', undefined, 'where');
	name.append(button(nameOf(r.f), () => pick(r.f), 'Callers and callees of ' + nameOf(r.f)));
	li.append(element('span', points(r.grown), 'share'), element('span', r.selfs.map(v => percent(v, 100)).join(' → '), 'dim'), name,
		element('span', shortPath(S[F[r.f][MODULE]]), 'dim where'));
	return li;
}
function fillChanges() {
	const rows = functionSums().filter(r => Math.abs(r.grown) >= 0.005).sort((a, b) => Math.abs(b.grown) - Math.abs(a.grown));
	$('answer').hidden = !rows.length;
	$('answer-title').textContent = 'The largest changes of self time, in points of the whole:';
	$('own').replaceChildren(...rows.slice(0, OWN_ROWS).map(changedRow));
}
function fillAnswer() {
	if (B)
		return fillChanges();
	const all = T.all[told()], rows = charges(), sums = new Map();
	$('answer').hidden = !all;
	if (!all)
		return;
	for (const [f, v] of rows)
		sums.set(F[f][CLASS], (sums.get(F[f][CLASS]) || 0) + v);
	/* show only own code if it is a large part of the time */
	const own = rows.filter(([f]) => F[f][CLASS] === OWN), shown = (sums.get(OWN) || 0) > all * OWN_PART ? own : rows;
	const parts = [...sums].filter(x => x[1] >= all / 200).sort((a, b) => b[1] - a[1]);
	$('answer-title').textContent = sentence() + ' · ' + parts.map(([c, v]) => `${CLASSES[c]} ${Math.round(100 * v / all)}%`).join(', ');
	$('own').replaceChildren(...endRows(), ...shown.slice(0, OWN_ROWS).map(r => ownRow(r, all, rows)));
	const people = [...sums].reduce((n, [c, v]) => n + (c < LANGUAGE ? v : 0), 0);
	fillPath(people >= all / 2 ? LANGUAGE - 1 : LANGUAGE);
}
