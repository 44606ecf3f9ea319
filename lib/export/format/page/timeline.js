/* SPDX-License-Identifier: Apache-2.0 */
/* ---- samples over time: a strip of all, and a view with a row for each process or thread ---- */
const LANE = 26, LANES = 200, LABEL = 220, OTHERS = 'others';
let lanes = null;	/* of the kind and process of lanesFor: [{ label, process, thread, bins, sum }] */
let lanesFor = '';

/* Does the shown kind have times, and not only windows? */
const isTimed = () => M && !M.summed[view.kind];
/* A wait has the time of its end. Draw it over its whole length. */
function spread(bins, bin, v) {
	if (S[kindNow()[1]] !== 'nanoseconds' || isClock(kindNow())) {
		bins[bin] += v;
		return;
	}
	for (; bin > 0 && v > M.bin_ns; v -= M.bin_ns)
		bins[bin--] += M.bin_ns;
	bins[bin] += v;
}

/* The values of each bin, by thread. They do not depend on the chosen range of times. */
function makeLanes() {
	const key = view.kind + '/' + view.process;
	if (lanes && lanesFor === key)
		return;
	const sums = new Map(), byThread = new Map(), trees = chosenTrees();
	const keyOf = (tree, thread) => thread || -1 - tree.p;
	for (const [i, tree] of trees)
		eachMoment(i, (node, v, bin, thread) => {
			const k = keyOf(tree, thread);
			sums.set(k, (sums.get(k) || 0) + v);
		});
	const newLane = (k, process, thread) => ({ k, process, thread, sum: 0, bins: new Float64Array(M.bins), cut: new Float64Array(M.bins) });
	const named = new Set([...sums].sort((x, y) => y[1] - x[1]).slice(0, LANES).map(x => x[0]));
	for (const [i, tree] of trees) {
		const cut = cutNodes(tree);
		eachMoment(i, (node, v, bin, thread) => {
			const k = named.has(keyOf(tree, thread)) ? keyOf(tree, thread) : OTHERS;
			let l = byThread.get(k);
			if (!l)
				byThread.set(k, l = newLane(k, tree.p, k === OTHERS ? 0 : thread));
			spread(l.bins, bin, v);
			if (cut[node])
				spread(l.cut, bin, v);
			l.sum += v;
		});
	}
	lanesFor = key;
	lanes = [...byThread.values()].sort((x, y) => (x.k === OTHERS) - (y.k === OTHERS) || y.sum - x.sum);
	for (const l of lanes) {
		const x = M.threads[l.thread];
		l.label = l.k === OTHERS ? `${sums.size - named.size} other threads` : laneLabel(x, l);
	}
}
/* "worker 12 · shop 10", or "shop 12 · 10" if the thread has the name of its program. */
function laneLabel([, id, name], { thread, process }) {
	const program = processName(process), pid = D.processes[process][0];
	return !thread ? `${program} ${pid}` : S[name] === program ? `${program} ${id} · ${pid}` : `${S[name] || 'thread'} ${id} · ${program} ${pid}`;
}
/* The row of the strip: the sum of all rows. */
function allLanes() {
	const bins = new Float64Array(M.bins), cut = new Float64Array(M.bins);
	for (const l of lanes.filter(x => isOfThread(x.thread))) {
		l.bins.forEach((v, i) => { bins[i] += v; });
		l.cut.forEach((v, i) => { cut[i] += v; });
	}
	return { bins, cut };
}
const binAt = (x, left, w) => Math.max(0, Math.min(M.bins - 1, Math.floor((x - left) / w * M.bins)));

/* Bars are relative to the largest bar of the row. The part of lost or cut stacks is red. */
function drawLane(p, lane, left, top, w, h) {
	/* A bar has whole bins. With few samples bars are wider, or each would be one sample
	   high. */
	const all = lane.bins.reduce((a, b) => a + b, 0), few = isClock(kindNow()) ? Math.max(60, all / 4) : Infinity;
	const each = Math.ceil(M.bins / Math.max(1, Math.min(w / 2, few))), columns = Math.ceil(M.bins / each);
	const sums = new Float64Array(columns), cut = new Float64Array(columns), wide = each / M.bins * w;
	lane.bins.forEach((v, i) => { sums[Math.floor(i / each)] += v; });
	lane.cut.forEach((v, i) => { cut[Math.floor(i / each)] += v; });
	const most = sums.reduce((a, b) => Math.max(a, b), 0);
	p.fillStyle = css.panel;
	p.fillRect(left, top, w, h);
	for (const [values, fill] of [[sums, css.bar], [cut, css.bad]]) {
		p.fillStyle = fill;
		for (let i = 0; most && i < columns; i++) {
			const x = i * wide, bar = Math.max(values[i] / most * (h - 2), 1);
			if (values[i] > 0)
				p.fillRect(left + x, top + h - bar, Math.max(Math.min(wide, w - x) - 0.5, 0.8), bar);
		}
	}
}
function drawGaps(p, left, top, w, h) {
	const ms = M.bins * M.bin_ns / 1e6;
	let end = 0;
	p.strokeStyle = css.hole;
	p.lineWidth = 1;
	for (const [from, to] of [...M.windows, [ms, ms]]) {
		/* shorter gaps are ends and beginnings of windows */
		if (from - end > 2 * M.bin_ns / 1e6) {
			const x = left + end / ms * w, wide = (from - end) / ms * w;
			p.save();
			p.beginPath();
			p.rect(x, top, wide, h);
			p.clip();
			p.beginPath();
			for (let k = x - h; k < x + wide; k += 6) {
				p.moveTo(k, top + h);
				p.lineTo(k + h, top);
			}
			p.stroke();
			p.restore();
		}
		end = Math.max(end, to);
	}
}
function drawChosen(p, left, top, w, h) {
	if (isWhole())
		return;
	const a = left + view.from / M.bins * w, b = left + (Math.min(view.to, M.bins - 1) + 1) / M.bins * w;
	p.fillStyle = css.bg;
	p.globalAlpha = 0.65;
	p.fillRect(left, top, a - left, h);
	p.fillRect(b, top, left + w - b, h);
	p.globalAlpha = 1;
	p.strokeStyle = css.accent;
	p.lineWidth = 2;
	p.strokeRect(a, top + 1, Math.max(b - a, 2), h - 2);
}
function drawTimes() {
	if (!isTimed() || !lanes)
		return;
	const c = $('times'), w = c.clientWidth;
	if (w > 0) {
		const p = fitCanvas(c, w, 34);
		drawLane(p, allLanes(), 0, 0, w, 34);
		drawGaps(p, 0, 0, w, 34);
		drawChosen(p, 0, 0, w, 34);
	}
	if (view.show === 'timeline')
		drawLanes();
}
const NOTES = ['Bars are against the largest of their row. Hatched: nothing was recorded; red: stacks that are not whole.',
	'Drag to choose a time (a wait counts where it ends), click a name to choose a thread.'];
function drawLanes() {
	const c = $('threads'), w = Math.max(1, $('lanes').clientWidth - 32), shown = lanes;
	const label = Math.min(LABEL, w / 3), p = fitCanvas(c, w, shown.length * LANE + 32 + 16 * NOTES.length);
	const chars = Math.floor((label - 10) / p.measureText('m').width);
	shown.forEach((l, k) => {
		const y = k * LANE + 2;
		p.globalAlpha = isOfThread(l.thread) ? 1 : 0.4;
		p.fillStyle = css.text;
		p.fillText(l.label.length > chars ? l.label.slice(0, chars - 1) + '…' : l.label, 0, y + LANE / 2);
		drawLane(p, l, label, y, w - label, LANE - 4);
		p.globalAlpha = 1;
		drawGaps(p, label, y, w - label, LANE - 4);
	});
	const bottom = shown.length * LANE;
	drawChosen(p, label, 0, w - label, bottom);
	p.fillStyle = css.dim;
	for (let k = 0; k <= 4; k++) {
		const text = seconds(k / 4 * M.bins * M.bin_ns / 1e9);
		p.textAlign = k === 4 ? 'right' : k ? 'center' : 'left';
		p.fillText(text, label + k / 4 * (w - label), bottom + 12);
	}
	p.textAlign = 'left';
	NOTES.forEach((text, i) => p.fillText(text, 0, bottom + 32 + 16 * i));
}

const rangeSeconds = () => (Math.min(view.to, M.bins - 1) + 1 - view.from) * M.bin_ns / 1e9;
function tellRange() {
	$('strip').hidden = !isTimed();
	$('view-timeline').hidden = !isTimed();
	const ms = M.bin_ns / 1e6;
	$('range').textContent = isWhole() ? `${seconds(M.bins * ms / 1e3)}, drag to choose` :
		`${seconds(view.from * ms / 1e3)} to ${seconds((Math.min(view.to, M.bins - 1) + 1) * ms / 1e3)}`;
	$('all-times').hidden = isWhole();
	for (const [k, v] of [['min', 0], ['max', M.bins - 1], ['now', view.from], ['text', $('range').textContent]])
		$('times').setAttribute('aria-value' + k, v);
}
function chooseTimes(from, to) {
	view.from = Math.max(0, from);
	view.to = to;
	if (view.from === 0 && view.to >= M.bins - 1)
		view.to = Infinity;
	tellRange();
	rebuild();
}

/* Dragging on a canvas whose times begin at left(). */
function dragOn(c, left, click) {
	let start = null;
	const where = e => {
		const box = c.getBoundingClientRect();
		return [e.clientX - box.left, e.clientY - box.top, box.width];
	};
	c.addEventListener('pointerdown', e => {
		const [x, , w] = where(e);
		if (!M || e.button)
			return;
		start = x < left(w) ? null : binAt(x, left(w), w - left(w));
		if (start !== null)
			c.setPointerCapture(e.pointerId);
	});
	c.addEventListener('pointermove', e => {
		const [x, y, w] = where(e);
		if (!M || !lanes)
			return;
		const bin = binAt(x, left(w), w - left(w));
		if (start !== null) {
			view.from = Math.min(start, bin);
			view.to = Math.max(start, bin);
			tellRange();
			redraw();
		}
		const lane = click ? lanes[Math.floor(y / LANE)] : allLanes();
		if (lane)
			showTip(lane.label || seconds(bin * M.bin_ns / 1e9), [['Time', seconds(bin * M.bin_ns / 1e9)], [kindWords(kindNow())[1],
				x < left(w) ? amount(lane.sum || 0) : amount(lane.bins[bin])]], e.clientX, e.clientY);
		else
			showTip('');
	});
	c.addEventListener('pointerup', e => {
		const [x, y, w] = where(e);
		if (start !== null) {
			const bin = binAt(x, left(w), w - left(w));
			/* a click without a drag chooses all times */
			chooseTimes(...(bin === start ? [0, Infinity] : [Math.min(start, bin), Math.max(start, bin)]));
		} else if (M && click && lanes[Math.floor(y / LANE)]) {
			click(lanes[Math.floor(y / LANE)]);
		}
		start = null;
	});
	c.addEventListener('pointerleave', () => showTip(''));
}
function timesKey(e) {
	const n = M.bins, step = Math.max(1, Math.round(n / 100));
	let from = view.from, to = Math.min(view.to, n - 1);
	const by = e.key === 'ArrowRight' ? step : e.key === 'ArrowLeft' ? -step : 0;
	if (e.key === 'Escape') {
		[from, to] = [0, n];
	} else if (!by) {
		return;
	} else if (isWhole()) {
		[from, to] = [0, Math.round(n / 10)];
	} else if (e.shiftKey) {
		to = Math.max(from, Math.min(n - 1, to + by));
	} else if (from + by >= 0 && to + by < n) {
		[from, to] = [from + by, to + by];
	}
	e.preventDefault();
	e.stopPropagation();
	chooseTimes(from, to);
}
