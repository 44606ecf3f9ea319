/* SPDX-License-Identifier: Apache-2.0 */
/* ---- the link: the page's address describes the view ---- */
const kindLink = k => S[k[0]] + (D.kinds.filter(x => S[x[0]] === S[k[0]]).length > 1 ? '/' + S[k[1]] : '');
let hideDefault = false, writing = true;
/* The parameters of the link, without those that have their default. */
function linkNow() {
	const q = new URLSearchParams(), put = (k, v, usual) => v !== usual && q.set(k, v);
	put('kind', view.kind === D.main_kind ? '' : kindLink(kindNow()), '');
	put('view', view.show === 'flame' ? view.inverted ? 'callers' : '' : view.show, '');
	if (view.show === 'sandwich')
		put('function', nameOf(view.picked), '');
	if (view.process)
		put('process', view.process[0] === 'n' ? view.process.slice(1) : String(D.processes[+view.process.slice(1)][0]), '');
	if (view.thread && M)
		put('thread', view.thread[0] === 'n' ? view.thread.slice(1) : String(M.threads[+view.thread.slice(1)][1]), '');
	if (view.trace && M)
		put('trace', M.traces[+view.trace], '');
	put('q', view.q, '');
	put('regex', view.regex ? '1' : '', '');
	put('hide', view.hide ? '1' : '0', hideDefault ? '1' : '0');
	put('flip', view.flipped ? '1' : '', '');
	put('side', view.side, B ? 'both' : 'after');
	put('colour', view.colour, 'self');
	if (!isWhole())
		q.set('time', [view.from, Math.min(view.to, M.bins - 1) + 1].map(b => Math.round(b * M.bin_ns / 1e6)).join('-'));
	if (panes.length === 1 && panes[0].zoom && view.show === 'flame')
		q.set('zoom', zoomPath().join('.'));
	return q.toString();
}
/* The numbers in this page of the functions from the root to the zoomed node. */
function zoomPath() {
	const path = [];
	for (let a = panes[0].zoom; a > 0; a = T.parent[a])
		path.unshift(T.fn[a] < 0 ? 'p' + names[-2 - T.fn[a]] : T.fn[a]);
	return path.map(x => encodeURIComponent(x).replace(/\./g, '%2E'));
}
function note() {
	if (!writing)
		return;
	const text = linkNow();
	if (text === location.hash.slice(1))
		return;
	try {
		history.replaceState(null, '', '#' + text);
	} catch (e) {
		/* called too often, or not allowed here: the page works without it */
	}
}
function findProcess(text) {
	const o = [...$('process').options].find(x => x.value[0] === 'n' ? x.value.slice(1) === text :
		x.value && (String(D.processes[+x.value.slice(1)][0]) === text || processName(+x.value.slice(1)) === text));
	return o ? o.value : '';
}
function findThread(text) {
	const o = [...$('thread').options].find(x => x.value[0] === 'n' ? x.value.slice(1) === text :
		x.value && (String(M.threads[+x.value.slice(1)][1]) === text || S[M.threads[+x.value.slice(1)][2]] === text));
	return o ? o.value : '';
}
/* The function of this name. Of several, the heaviest. */
function findFunction(name) {
	const sums = new Map();
	for (let i = 1; i < T.len; i++)
		if (T.fn[i] >= 0 && nameOf(T.fn[i]) === name)
			sums.set(T.fn[i], (sums.get(T.fn[i]) || 0) + T.total[i]);
	return sums.size ? [...sums].sort((a, b) => b[1] - a[1])[0][0] : -1;
}
function readTimes(text) {
	const m = /^(\d+)-(\d+)$/.exec(text || '');
	view.from = 0;
	view.to = Infinity;
	if (!m || !moments())
		return;
	const bin = ms => Math.round(ms * 1e6 / M.bin_ns);
	const from = Math.min(bin(+m[1]), M.bins - 1), to = Math.min(bin(+m[2]) - 1, M.bins - 1);
	if (to >= from && to - from < M.bins - 1)
		[view.from, view.to] = [from, to];
}
function readZoom(text) {
	let i = 0;
	for (const part of text ? text.split('.') : []) {
		let x = '';
		try {
			x = decodeURIComponent(part);
		} catch (e) {
			break;
		}
		const fn = x[0] === 'p' ? processFunction(x.slice(1)) : +x;
		let next = -1;
		for (let k = T.first[i]; k < T.first[i + 1] && next < 0; k++)
			if (T.fn[T.kids[k]] === fn)
				next = T.kids[k];
		if (next < 0)
			break;
		i = next;
	}
	if (i)
		zoomTo({ pane: panes[0], i });
}
/* Names of --kinds that differ from the type of their samples. */
const RECORDED = { cpu: 'samples', locks: 'delay', kernel_locks: 'delay', heap: 'alloc_space', wakers: 'off_cpu_wakers',
	probes: 'events' };
/* Show the view that a link describes. */
function readLink(text) {
	const q = new URLSearchParams(text), get = k => q.get(k) || '';
	const wanted = Object.hasOwn(RECORDED, get('kind')) ? RECORDED[get('kind')] : get('kind');
	const kind = D.kinds.findIndex(k => [S[k[0]], S[k[0]] + '/' + S[k[1]]].includes(wanted));
	writing = false;
	view.kind = kind < 0 ? D.main_kind : kind;
	fillProcesses();
	view.process = $('process').value = findProcess(get('process'));
	view.thread = view.trace = '';
	readTimes(get('time'));
	if ((get('thread') || get('trace') || get('view') === 'timeline') && moments()) {
		fillThreads();
		view.thread = $('thread').value = findThread(get('thread'));
		const x = get('trace') ? M.traces.indexOf(get('trace')) : -1;
		view.trace = $('trace').value = x < 0 ? '' : String(x);
	}
	view.q = $('search').value = get('q');
	view.regex = get('regex') === '1';
	view.hide = q.has('hide') ? get('hide') === '1' : hideDefault;
	view.flipped = get('flip') === '1';
	view.inverted = get('view') === 'callers';
	view.side = B && ['before', 'after'].includes(get('side')) ? get('side') : B ? 'both' : 'after';
	view.colour = get('colour') === 'total' ? 'total' : 'self';
	view.picked = -1;
	view.show = get('view') === 'table' || (get('view') === 'timeline' && isTimed()) ? get('view') : 'flame';
	rebuild();
	if (get('view') === 'sandwich' && findFunction(get('function')) >= 0)
		setPicked(findFunction(get('function')));
	else if (view.show === 'flame')
		readZoom(get('zoom'));
	if (M)
		tellRange();
	writing = true;
}
