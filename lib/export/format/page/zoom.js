/* SPDX-License-Identifier: Apache-2.0 */
/* ---- zoom, and the function that is chosen ---- */
function crumb(pane, i, last) {
	const li = element('li'), name = i < 0 ? '…' : nameOf(pane.t.fn[i]);
	if (i < 0) {
		li.textContent = name;
	} else if (last) {
		const s = element('span', name);
		s.title = name;
		s.setAttribute('aria-current', 'true');
		li.append(s);
	} else {
		li.append(button(name, () => zoomTo({ pane, i })));
	}
	return li;
}
function fillCrumbs(pane) {
	const path = [];
	for (let a = pane.zoom; a >= 0; a = pane.t.parent[a])
		path.unshift(a);
	const shown = path.length > 6 ? [...path.slice(0, 2), -1, ...path.slice(-3)] : path;
	$('crumbs').replaceChildren(...shown.map((a, k) => crumb(pane, a, k === shown.length - 1)));
}
/* The function of "Callers and callees" and "Copy name"; -1: none. */
function chosenFunction() {
	const f = focus ? focus.pane.t.fn[focus.i] : -1;
	return f >= 0 ? f : view.show === 'sandwich' ? view.picked : -1;
}
function showChosen() {
	$('chosen').hidden = chosenFunction() < 0 || view.show === 'timeline';
	$('sandwich').setAttribute('aria-pressed', String(view.show === 'sandwich'));
	$('reset').hidden = view.show !== 'sandwich' && panes.every(p => !p.zoom) && isWhole() &&
		view.thread === '' && view.trace === '' && view.process === '';
}
function zoomTo(what, still) {
	what.pane.zoom = what.i;
	focus = what;
	fillCrumbs(what.pane);
	if (!still)
		reveal(what);
	search();
	describe(what);
	showChosen();
	redraw();
	note();
}
function reveal({ pane, i }) {
	const s = $('scroll'), y = rowTop(pane, pane.t.depth[i]);
	if (y < s.scrollTop + ROW)
		s.scrollTop = Math.max(0, y - 3 * ROW);
	else if (y + 2 * ROW > s.scrollTop + s.clientHeight)
		s.scrollTop = y + 4 * ROW - s.clientHeight;
}
/* Make a node wide enough to read. If it is too thin, zoom to the outermost ancestor that makes it
   wide enough. */
function bringIntoView(what) {
	const { pane, i } = what, t = pane.t, enough = 90;
	const inside = t.isAncestor(pane.zoom, i) && t.depth[i] >= t.depth[pane.zoom];
	draw();
	if (!inside || span(pane, i)[1] < enough) {
		let a = i;
		while (t.parent[a] >= 0 && t.wide[i] / t.wide[t.parent[a]] * width >= enough)
			a = t.parent[a];
		zoomTo({ pane, i: a }, true);
	}
	draw();
	focus = what;
	reveal(what);
	describe(what);
	showChosen();
	redraw();
}

/* Show callers and callees of function f; -1: show the whole graph. */
function setPicked(f) {
	view.picked = f;
	setShow(f < 0 ? 'flame' : 'sandwich');
}
function pick(f) {
	setPicked(f);
	/* the pressed button may be gone */
	canvas.focus({ preventScroll: true });
}
function setShow(show) {
	view.show = show;
	showView();
	note();
}
function showView() {
	const graph = view.show === 'flame' || view.show === 'sandwich';
	if (view.show === 'sandwich') {
		const [up, down] = aroundTrees(T, view.picked);
		setPanes([{ t: up, zoom: 0, up: true, from: 1 }, { t: down, zoom: 0, up: false, from: 0 }]);
	} else {
		setPanes([{ t: T, zoom: 0, up: view.flipped, from: 0 }]);
	}
	$('scroll').hidden = !graph;
	$('table').hidden = view.show !== 'table';
	$('lanes').hidden = view.show !== 'timeline';
	for (const v of ['flame', 'table', 'timeline'])
		$('view-' + v).setAttribute('aria-pressed', String(view.show === v));
	$('empty').hidden = T.all[0] + T.all[1] > 0;
	search();
	fillCrumbs(focus.pane);
	fillTable();
	showChosen();
	fillLegend();
	draw();
	$('scroll').scrollTop = view.show === 'sandwich' ? panes[0].base - $('scroll').clientHeight / 2 :
		view.flipped ? T.rows * ROW : 0;
	redraw();
}
/* Make the whole view again, after a choice changed. */
function rebuild() {
	T = wholeTree();
	fillAnswer();
	fillHead();
	showView();
	note();
}
async function copyName() {
	const f = chosenFunction();
	if (f < 0)
		return;
	let ok = false;
	try {
		await navigator.clipboard.writeText(nameOf(f));
		ok = true;
	} catch (e) {
		const box = element('textarea', nameOf(f));
		document.body.append(box);
		box.select();
		ok = document.execCommand('copy');
		box.remove();
	}
	$('status').textContent = ok ? 'Copied: ' + nameOf(f) : 'The browser does not let a page copy.';
}
