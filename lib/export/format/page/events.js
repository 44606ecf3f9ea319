/* SPDX-License-Identifier: Apache-2.0 */
/* ---- keys, pointer and controls ---- */
function sibling({ pane, i }, step) {
	const t = pane.t, p = t.parent[i];
	if (p < 0)
		return i;
	t.lay(p);
	for (let k = t.first[p]; k < t.first[p + 1]; k++)
		if (t.kids[k] === i)
			return k + step < t.first[p] || k + step >= t.first[p + 1] ? i : t.kids[k + step];
	return i;
}
/* One step into the tree or back. In a sandwich the chosen function is the middle. */
function step(what, inward) {
	const { pane, i } = what, t = pane.t;
	if (inward) {
		t.lay(i);
		return t.first[i] < t.first[i + 1] ? { pane, i: t.kids[t.first[i]] } : what;
	}
	return t.parent[i] >= 0 ? { pane, i: t.parent[i] } : what;
}
function move(key) {
	const up = key === 'ArrowUp', { pane, i } = focus;
	if (key === 'Home')
		return { pane, i: 0 };
	if (key === 'ArrowLeft' || key === 'ArrowRight')
		return { pane, i: sibling(focus, key === 'ArrowLeft' ? -1 : 1) };
	if (panes.length > 1 && !i && up !== pane.up)
		return step({ pane: panes[up ? 0 : 1], i: 0 }, true);
	return step(focus, up === !!pane.up);
}
function onKey(e) {
	if (e.ctrlKey || e.metaKey || e.altKey)
		return;
	if (e.key === 'Enter' || e.key === ' ') {
		zoomTo(focus);
	} else if (e.key === 'Backspace') {
		zoomTo({ pane: focus.pane, i: Math.max(0, focus.pane.t.parent[focus.pane.zoom]) });
	} else if (/^(Arrow.*|Home)$/.test(e.key)) {
		const to = move(e.key), { pane, i } = to;
		/* zoom out to a node that is outside the zoom */
		if (!pane.t.isAncestor(pane.zoom, i) || pane.t.depth[i] < pane.t.depth[pane.zoom])
			zoomTo({ pane, i: pane.t.depth[i] < pane.t.depth[pane.zoom] ? i : pane.t.parent[i] });
		focus = to;
		reveal(focus);
		describe(focus);
		showChosen();
		redraw();
	} else {
		return;
	}
	e.preventDefault();
}
function pointed(e) {
	const box = canvas.getBoundingClientRect();
	return nodeAt(e.clientX - box.left, e.clientY - box.top);
}
canvas.addEventListener('keydown', onKey);
canvas.addEventListener('focus', () => { describe(focus); redraw(); });
canvas.addEventListener('blur', redraw);
canvas.addEventListener('mousemove', e => {
	const what = pointed(e);
	canvas.classList.toggle('over', !!what);
	if (!same(what, hover) && (what || hover)) {
		hover = what;
		redraw();
	}
	showTip(what && nameOf(what.pane.t.fn[what.i]), what && facts(what), e.clientX, e.clientY);
});
canvas.addEventListener('mouseleave', () => {
	hover = null;
	showTip('');
	redraw();
});
canvas.addEventListener('click', e => {
	const what = pointed(e);
	if (what)
		zoomTo(what);
});
function chooseKind(i) {
	view.kind = i;
	view.from = 0;
	view.to = Infinity;
	lanes = null;
	fillProcesses();
	fillThreads();
	if (M)
		tellRange();
	if (view.show === 'timeline' && !isTimed())
		view.show = 'flame';
	/* the chosen function may have no samples of this kind */
	if (view.show === 'sandwich')
		view.show = 'flame';
	rebuild();
}
function resetAll() {
	view.process = view.thread = view.trace = $('process').value = $('thread').value = $('trace').value = '';
	view.from = 0;
	view.to = Infinity;
	if (view.show === 'sandwich')
		view.show = 'flame';
	fillThreads();
	if (M)
		tellRange();
	rebuild();
}
function nextSide() {
	view.side = { both: 'after', after: 'before', before: 'both' }[view.side];
	rebuild();
}
/* Escape undoes one thing: the search, else the zoom, else the sandwich. */
function escape(typing) {
	if (typing && view.q) {
		$('search').value = '';
		searchFor('');
	} else if (panes.some(p => p.zoom)) {
		for (const p of panes)
			p.zoom = 0;
		zoomTo({ pane: panes[panes.length - 1], i: 0 });
	} else if (view.show === 'sandwich') {
		pick(-1);
	}
	showTip('');
}
document.addEventListener('keydown', e => {
	const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName);
	if (e.key === 'Escape')
		return escape(e.target === $('search'));
	if (typing || e.ctrlKey || e.metaKey || e.altKey)
		return;
	const keys = {
		'/': () => $('search').focus(),
		n: () => walk(1),
		N: () => walk(-1),
		s: () => pick(view.show === 'sandwich' && chosenFunction() === view.picked ? -1 : chosenFunction()),
		c: copyName,
		b: () => B && nextSide(),
	};
	if (!Object.hasOwn(keys, e.key))
		return;
	e.preventDefault();
	keys[e.key]();
});
$('search').addEventListener('input', e => searchFor(e.target.value));
$('search').addEventListener('keydown', e => {
	if (e.key !== 'Enter')
		return;
	e.preventDefault();
	walk(e.shiftKey ? -1 : 1);
});
$('kinds').addEventListener('keydown', e => {
	const list = [...$('kinds').querySelectorAll('button')], by = e.key === 'ArrowRight' ? 1 : e.key === 'ArrowLeft' ? -1 : 0;
	if (!by)
		return;
	const to = list[(list.indexOf(e.target) + by + list.length) % list.length];
	e.preventDefault();
	chooseKind(+to.value);
	to.focus();
});
const clicks = {
	regex: () => { view.regex = !view.regex; searchFor(view.q); },
	previous: () => walk(-1),
	next: () => walk(1),
	hide: () => { view.hide = !view.hide; rebuild(); },
	invert: () => { view.inverted = !view.inverted; view.show = view.show === 'table' ? 'table' : 'flame'; rebuild(); },
	flip: () => { view.flipped = !view.flipped; fillHead(); setShow(view.show === 'sandwich' ? 'flame' : view.show); },
	'view-flame': () => setShow('flame'),
	'view-table': () => setShow('table'),
	'view-timeline': () => { setShow('timeline'); },
	sandwich: () => pick(view.show === 'sandwich' && chosenFunction() === view.picked ? -1 : chosenFunction()),
	copy: copyName,
	reset: resetAll,
	'all-times': () => chooseTimes(0, Infinity),
	'save-svg': saveSvg,
	'save-png': savePng,
};
for (const [id, what] of Object.entries(clicks))
	$(id).addEventListener('click', what);
const choices = {
	process: v => { view.process = v; view.thread = view.trace = ''; lanes = null; fillThreads(); },
	thread: v => { view.thread = v; },
	trace: v => { view.trace = v; },
	side: v => { view.side = v; },
	colour: v => { view.colour = v; },
};
for (const [id, what] of Object.entries(choices))
	$(id).addEventListener('change', e => { what(e.target.value); rebuild(); });
for (const by of ['self', 'total', 'change', 'grown'])
	$('th-' + by).firstElementChild.addEventListener('click', () => { tableBy = by; fillTable(); });
const LABELS = w => Math.min(LABEL, w / 3);
dragOn($('times'), () => 0, null);
dragOn($('threads'), LABELS, lane => {
	view.thread = lane.thread && view.thread !== 't' + lane.thread ? 't' + lane.thread : '';
	$('thread').value = view.thread;
	rebuild();
});
$('times').addEventListener('keydown', e => M && timesKey(e));
$('scroll').addEventListener('scroll', redraw);
$('answer').addEventListener('toggle', redraw);
addEventListener('resize', redraw);
addEventListener('hashchange', () => readLink(location.hash.slice(1)));
addEventListener('beforeprint', () => $('print').replaceChildren(drawing()));
addEventListener('afterprint', () => $('print').replaceChildren());
dark.addEventListener('change', () => { readTheme(); fillLegend(); redraw(); });
