/* SPDX-License-Identifier: Apache-2.0 */
/* ---- around the graph: title, kinds, choices, legend ---- */
function legendEntry(fill, text) {
	const li = element('li'), svg = svgElement('svg', { width: 12, height: 12, 'aria-hidden': 'true' });
	svg.append(svgElement('rect', { width: 12, height: 12, fill }));
	li.append(svg, element('span', text));
	return li;
}
function fillLegend() {
	if (B) {
		const m = T.most, by = view.colour;
		$('legend').replaceChildren(legendEntry(changeColour(1), `${by} grew, at most ${points(m.grew[by])}`),
			legendEntry(changeColour(-1), `${by} shrank, at most ${points(m.shrank[by])}`), legendEntry(changeColour(0), 'as before'));
		return;
	}
	/* by the index of the type's text in S */
	const types = Int32Array.from(F, f => f[TYPE]), sums = new Float64Array(S.length), found = new Uint8Array(S.length);
	for (let i = 0; i < T.len; i++)
		if (T.fn[i] >= 0) {
			found[types[T.fn[i]]] = 1;
			sums[types[T.fn[i]]] += view.inverted ? T.depth[i] === 1 ? T.total[i] : 0 : T.self[i];
		}
	const seen = [...new Set(types)].filter(n => found[n]).sort((a, b) => sums[b] - sums[a]);
	$('legend').replaceChildren(...seen.map(n => {
		const t = S[n], li = legendEntry(colour(t, 3), hueOf(t)[2] + ' ' + percent(sums[n], T.total[0]));
		li.title = 'time in frames of this type themselves';
		return li;
	}));
}

/* The first frames of stacks that end before the program's start. */
const ENDINGS = /^\[(unwind error: |truncated\]|no unwind table yet\]|stack lost\])/;
function cutNodes(t) {
	const cut = new Uint8Array(t.f.length);
	let now = 0;
	for (let i = 0; i < t.f.length; i++) {
		if (!t.d[i])
			now = F[t.f[i]][CLASS] === NONE && ENDINGS.test(nameOf(t.f[i])) ? 1 : 0;
		cut[i] = now;
	}
	return cut;
}
/* The share of the kind's stacks that reach the program's start, in percent. */
const quality = new Map();
function wholeShare() {
	if (!quality.has(view.kind)) {
		let all = 0, lost = 0;
		for (const [, t] of treesOf(view.kind).filter(x => sideOf(x[1]))) {
			const cut = cutNodes(t);
			for (let i = 0; i < t.f.length; i++) {
				all += t.s[i];
				lost += cut[i] ? t.s[i] : 0;
			}
		}
		quality.set(view.kind, all ? 100 - 100 * lost / all : 100);
	}
	return quality.get(view.kind);
}
/* The heading: the command, or the programs with most of the main kind, and the host. */
function heading() {
	const sums = new Map(), pids = new Set(D.trees.filter(sideOf).map(t => t.p)), parts = [];
	for (const [, t] of treesOf(D.main_kind))
		if (sideOf(t))
			sums.set(processName(t.p), (sums.get(processName(t.p)) || 0) + t.sum);
	const list = [...sums].sort((a, b) => b[1] - a[1]).map(x => x[0]);
	if (D.command && !B)
		parts.push(D.command.length > 100 ? D.command.slice(0, 99) + '…' : D.command);
	else if (pids.size === 1 && list.length)
		parts.push(B ? list[0] : `${list[0]} [${D.processes[[...pids][0]][0]}]`);
	else
		parts.push(`${list.slice(0, 2).join(', ')}${list.length > 2 ? ', …' : ''} (${pids.size} processes)`);
	if (S[D.host])
		parts.push(D.hosts_differ ? 'of several hosts' : 'on ' + S[D.host]);
	return (B ? 'Difference: ' : '') + parts.join(' ');
}
let title = '';
function fillHead() {
	const k = kindNow(), words = kindWords(k), parts = [];
	title = title || heading();
	$('title').textContent = title;
	document.title = `${title} – ${words[1]} – otelprof`;
	if (B) {
		parts.push(`before: ${amount(T.all[0])}${samples(T.all[0]) && ', ' + samples(T.all[0])} · after: ${amount(T.all[1])}${samples(T.all[1]) && ', ' + samples(T.all[1])}`,
			'widths: ' + (view.side === 'both' ? 'the larger share of both' : view.side), 'shares of each whole are compared');
	} else {
		parts.push(words[1], amount(T.all[1]), samples(T.all[1]));
		if (isClock(k))
			parts.push(grouping.format(Math.round(1e9 / k[4])) + ' Hz');
		if (D.duration_ms)
			parts.push('over ' + seconds(D.duration_ms / 1e3));
	}
	if (D.start_ms)
		parts.push(new Date(D.start_ms).toISOString().replace('T', ' ').replace(/\..*/, ' UTC'));
	parts.push('otelprof ' + D.version);
	$('summary').textContent = parts.filter(Boolean).join(' · ');
	const q = wholeShare(), guessed = D.guessed[view.kind], lost = D.lost[view.kind], said = [];
	said.push(`${q.toFixed(1)}% of the stacks are whole`);
	if (guessed >= 0.05)
		said.push(guessed.toFixed(1) + '% go by a guess');
	if (lost)
		said.push(`${lost < 0.1 ? 'less than 0.1' : lost.toFixed(1)}% of the samples were lost`);
	else if (D.none_lost)
		said.push('none of the samples were lost');
	$('quality').textContent = said.join(', ');
	$('quality').classList.toggle('bad', q < 95 || lost >= 1);
	$('hide').setAttribute('aria-pressed', String(view.hide));
	$('invert').setAttribute('aria-pressed', String(view.inverted));
	$('flip').setAttribute('aria-pressed', String(view.flipped));
	$('side').value = view.side;
	$('colour').value = view.colour;
	for (const b of $('kinds').querySelectorAll('button')) {
		b.setAttribute('aria-selected', String(+b.value === view.kind));
		b.tabIndex = +b.value === view.kind ? 0 : -1;
	}
}
/* One bar of all kinds, in groups. */
function fillKinds() {
	const list = [], order = k => Object.keys(KINDS).indexOf(S[k[0]] + '/' + S[k[1]]);
	for (const group of GROUPS) {
		const kinds = [...D.kinds.entries()].filter(([, k]) => kindWords(k)[0] === group)
			.sort((a, b) => order(a[1]) - order(b[1]));
		if (kinds.length && (kinds.length > 1 || kindWords(kinds[0][1])[1] !== group))
			list.push(element('span', group));
		for (const [i, k] of kinds) {
			const b = button(kindWords(k)[1], () => chooseKind(i), `${S[k[0]]} (${S[k[1]]})`);
			b.value = i;
			b.setAttribute('role', 'tab');
			list.push(b);
		}
	}
	$('kinds').replaceChildren(...list);
	$('kinds').hidden = D.kinds.length < 2;
}
function option(value, text) {
	const o = element('option', text);
	o.value = value;
	return o;
}
/* Fill a <select> with @list, and select @value if it is in there. Returns the selected value. */
function fillChoice(id, list, value) {
	$(id).replaceChildren(...list);
	$(id).value = list.some(o => o.value === value) ? value : '';
	return $(id).value;
}
function fillProcesses() {
	const sums = new Map(), byName = new Map();
	for (const [, t] of treesOf(view.kind))
		sums.set(t.p, (sums.get(t.p) || 0) + (sideOf(t) ? t.sum : 0));
	const all = [...sums.values()].reduce((a, b) => a + b, 0);
	for (const [p, v] of sums) {
		const g = byName.get(processName(p)) || { v: 0, list: [] };
		g.v += v;
		g.list.push(p);
		byName.set(processName(p), g);
	}
	const list = [option('', 'All processes')];
	for (const [name, g] of [...byName].sort((a, b) => b[1].v - a[1].v || (a[0] < b[0] ? -1 : 1))) {
		if (B || g.list.length > 1)
			list.push(option('n' + name, `${name} (all ${g.list.length}) — ${percent(g.v, all)}`));
		for (const p of B ? [] : g.list.sort((a, b) => sums.get(b) - sums.get(a)))
			list.push(option('p' + p, `${name} [${D.processes[p][0]}] — ${percent(sums.get(p), all)}`));
	}
	view.process = fillChoice('process', list, view.process);
	$('process-label').hidden = list.length < 3;
}
/* Threads and traces, if the page has times. */
function fillThreads() {
	if (!M)
		return;
	makeLanes();
	const all = lanes.reduce((n, l) => n + l.sum, 0), byName = new Map(), list = [option('', 'All threads')];
	for (const l of lanes.filter(x => x.thread)) {
		const name = S[M.threads[l.thread][2]];
		byName.has(name) || byName.set(name, { sum: 0, lanes: [] });
		byName.get(name).sum += l.sum;
		byName.get(name).lanes.push(l);
	}
	for (const [name, g] of [...byName].sort((a, b) => b[1].sum - a[1].sum)) {
		if (g.lanes.length > 1 && name)
			list.push(option('n' + name, `${name} (all ${g.lanes.length}) — ${percent(g.sum, all)}`));
		for (const l of g.lanes)
			list.push(option('t' + l.thread, `${name || 'thread'} [${M.threads[l.thread][1]}] — ${percent(l.sum, all)}`));
	}
	view.thread = fillChoice('thread', list, view.thread);
	$('thread-label').hidden = list.length < 3;
	fillTraces();
}
function fillTraces() {
	const sums = new Map();
	if (M.traces.length > 1)
		for (const [i] of chosenTrees())
			eachMoment(i, (node, v, bin, thread, trace) => sums.set(trace, (sums.get(trace) || 0) + v));
	const all = [...sums.values()].reduce((a, b) => a + b, 0), list = [option('', 'All samples')];
	for (const [x, v] of [...sums].sort((a, b) => b[1] - a[1]).slice(0, LANES))
		list.push(option(String(x), `${x ? M.traces[x] : M.traces_lost ? 'none, or not told apart' : 'no trace'} — ${percent(v, all)}`));
	view.trace = fillChoice('trace', list, view.trace);
	$('trace-label').hidden = list.length < 3;
}
