/* SPDX-License-Identifier: Apache-2.0 */
/* ---- drawing: one pane with the whole tree, or callers above and callees below ---- */
const ROW = 20, THIN = 0.4, TEXT_MIN = 28;
const FONT = '12px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace';
const canvas = $('graph'), pen = canvas.getContext('2d');
let T = null;		/* the tree of all that is chosen */
let panes = [];		/* { t, zoom, up, base: y of row 0, from: first row that is drawn } */
let focus = null, hover = null;	/* { pane, i } */
let rowsDrawn = 0, width = 0, height = 0, charWidth = 7;

function setPanes(list) {
	panes = list;
	rowsDrawn = list.length > 1 ? list[0].t.rows - 1 + list[1].t.rows : list[0].t.rows;
	for (const p of list)
		p.base = list.length > 1 ? (list[0].t.rows - 1) * ROW : p.up ? (p.t.rows - 1) * ROW : 0;
	const main = list[list.length - 1];
	focus = { pane: main, i: 0 };
	hover = null;
}
const same = (a, b) => a && b && a.pane === b.pane && a.i === b.i;
const rowTop = (p, d) => p.up ? p.base - d * ROW : p.base + d * ROW;

/* The x and width of node i. The zoomed node and its ancestors fill the width. */
function span(p, i) {
	const t = p.t;
	if (t.depth[i] <= t.depth[p.zoom] && t.isAncestor(i, p.zoom))
		return [0, width];
	t.layTo(i);
	const scale = t.wide[p.zoom] ? width / t.wide[p.zoom] : 0;
	return [(t.x[i] - t.x[p.zoom]) * scale, t.wide[i] * scale];
}
function fit(text, room) {
	const chars = Math.floor(room / charWidth);
	return text.length <= chars ? text : chars < 3 ? '' : text.slice(0, chars - 1) + '…';
}

/* Call fn(pane, node, x, width, y) for each node between the heights from and to that is wide
   enough to see. */
function eachVisible(from, to, fn) {
	for (const p of panes) {
		const t = p.t;
		for (let a = t.parent[p.zoom]; a >= 0; a = t.parent[a])
			if (t.depth[a] >= p.from)
				fn(p, a, 0, width, rowTop(p, t.depth[a]));
		t.layTo(p.zoom);
		const scale = t.wide[p.zoom] ? width / t.wide[p.zoom] : 0, todo = [p.zoom];
		while (todo.length) {
			const i = todo.pop(), y = rowTop(p, t.depth[i]);
			const w = i === p.zoom ? width : t.wide[i] * scale;
			if (w < THIN || (p.up ? y < from - ROW : y > to))
				continue;
			if (y > from - ROW && y < to && t.depth[i] >= p.from)
				fn(p, i, (t.x[i] - t.x[p.zoom]) * scale, w, y);
			t.lay(i);
			/* the widest first */
			for (let k = t.first[i]; k < t.first[i + 1] && t.wide[t.kids[k]] * scale >= THIN; k++)
				todo.push(t.kids[k]);
		}
	}
}

/* The part of a name that fits, and the hot line if it fits beside it: the two texts, and the x of
   the second. */
function labelOf(f, room) {
	const name = nameOf(f), line = B ? '' : hotLine(f).split('/').pop();
	const fits = line && (name.length + line.length + 2) * charWidth < room;
	return [fit(name, room), fits ? line : '', (name.length + 2) * charWidth];
}
function drawNode(p, i, x, w, y) {
	const t = p.t, hit = isHit(t.fn[i]), me = { pane: p, i };
	const inset = w > 3 ? 1 : w > 1.5 ? 0.5 : 0, above = t.depth[i] < t.depth[p.zoom];
	pen.globalAlpha = above ? 0.5 : hits && !hit && i ? 0.35 : 1;
	pen.fillStyle = hit ? css.hit : colourOf(t, i);
	pen.fillRect(x, y, Math.max(w - inset, THIN), ROW - 1);
	if (w > TEXT_MIN) {
		const left = Math.max(x, 0);
		pen.globalAlpha = hits && !hit ? 0.6 : 1;
		pen.fillStyle = hit ? css['hit-text'] : css.text;
		const [name, line, at] = labelOf(t.fn[i], w - 9 - (left - x));
		pen.fillText(name, left + 5, y + ROW / 2);
		pen.globalAlpha *= 0.6;
		pen.fillText(line, left + 5 + at, y + ROW / 2);
	}
	pen.globalAlpha = 1;
	/* the function itself, between its callers and callees */
	if (view.show === 'sandwich' && t.depth[i] === 0 && p.from === 0) {
		pen.fillStyle = css.accent;
		pen.fillRect(x, y, 3, ROW - 1);
		pen.fillRect(x, y + ROW - 3, Math.max(w - inset, THIN), 2);
	}
	const over = same(me, hover) || (matchAt >= 0 && same(me, matches[matchAt]));
	if (over || (same(me, focus) && document.activeElement === canvas)) {
		pen.strokeStyle = over ? css.text : css.accent;
		pen.lineWidth = 2;
		pen.strokeRect(x + 1, y + 1, Math.max(w - inset - 2, 1), ROW - 3);
	}
}
function fitCanvas(c, w, h) {
	const scale = devicePixelRatio || 1, p = c.getContext('2d');
	c.style.height = h + 'px';
	if (c.width !== Math.round(w * scale) || c.height !== Math.round(h * scale)) {
		c.width = Math.round(w * scale);
		c.height = Math.round(h * scale);
	}
	p.setTransform(scale, 0, 0, scale, 0, 0);
	p.clearRect(0, 0, w, h);
	p.textBaseline = 'middle';
	p.font = FONT;
	return p;
}
function draw() {
	const scroll = $('scroll');
	if (!T || scroll.hidden)
		return;
	const top = scroll.scrollTop;
	width = Math.max(1, scroll.clientWidth - 32);
	height = scroll.clientHeight;
	$('spacer').style.height = Math.max(0, rowsDrawn * ROW + 8 - height) + 'px';
	fitCanvas(canvas, width, height);
	charWidth = pen.measureText('mmmmmmmmmm').width / 10;
	eachVisible(top, top + height, (p, i, x, w, y) => drawNode(p, i, x, w, y - top));
}
let waiting = false;
function redraw() {
	if (!waiting)
		requestAnimationFrame(() => { waiting = false; draw(); drawTimes(); });
	waiting = true;
}

/* The node under a point of the canvas, or null. */
function nodeAt(px, py) {
	const y = py + $('scroll').scrollTop;
	const p = panes.find(x => x.up ? y < x.base + (x.from ? 0 : ROW) : y >= x.base);
	if (!p)
		return null;
	const t = p.t, depth = p.up ? Math.floor((p.base + ROW - y) / ROW) : Math.floor((y - p.base) / ROW);
	if (depth < p.from || depth >= t.rows)
		return null;
	if (depth <= t.depth[p.zoom]) {
		let a = p.zoom;
		while (t.depth[a] > depth)
			a = t.parent[a];
		return { pane: p, i: a };
	}
	t.layTo(p.zoom);
	const v = t.x[p.zoom] + px / width * t.wide[p.zoom];
	let i = p.zoom;
	while (t.depth[i] < depth) {
		t.lay(i);
		let lo = t.first[i], hi = t.first[i + 1] - 1, found = -1;
		while (lo <= hi) {
			const mid = (lo + hi) >> 1;
			if (t.x[t.kids[mid]] <= v) {
				found = t.kids[mid];
				lo = mid + 1;
			} else {
				hi = mid - 1;
			}
		}
		if (found < 0 || v >= t.x[found] + t.wide[found])
			return null;
		i = found;
	}
	return span(p, i)[1] < THIN ? null : { pane: p, i };
}
