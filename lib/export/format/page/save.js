/* SPDX-License-Identifier: Apache-2.0 */
/* ---- the graph as a drawing or an image of its own ---- */
const SVG = 'http://www.w3.org/2000/svg', ROWS_SAVED = 400;
function svgElement(tag, attributes, text) {
	const e = document.createElementNS(SVG, tag);
	for (const [k, v] of Object.entries(attributes))
		e.setAttribute(k, v);
	if (text !== undefined)
		e.textContent = text;
	return e;
}
/* All rows with the current zoom and colours. Names become text nodes, so they are never markup. */
function drawing() {
	const head = 26, h = Math.min(rowsDrawn, ROWS_SAVED) * ROW;
	const svg = svgElement('svg', { xmlns: SVG, viewBox: `0 0 ${width} ${h + head}`, width, height: h + head,
		'font-family': 'monospace', 'font-size': '12px' });
	svg.append(svgElement('rect', { width: '100%', height: '100%', fill: css.bg }),
		svgElement('text', { x: 2, y: 16, fill: css.text }, document.title));
	eachVisible(0, h, (p, i, x, w, y) => {
		const t = p.t, g = svgElement('g', {}), hit = isHit(t.fn[i]);
		g.append(svgElement('title', {}, nameOf(t.fn[i]) + ' — ' + amount(t.total[i]) + ', ' +
			percent(t.total[i], t.all[told()])),
			svgElement('rect', { x: x.toFixed(1), y: y + head, width: Math.max(w - 0.5, THIN).toFixed(1),
				height: ROW - 1, fill: hit ? css.hit : colourOf(t, i) }));
		const [name, line, at] = w > TEXT_MIN ? labelOf(t.fn[i], w - 9) : ['', '', 0];
		for (const [text, left, opacity] of [[name, x + 4, 1], [line, x + 4 + at, 0.6]])
			if (text)
				g.append(svgElement('text', { x: left.toFixed(1), y: y + head + 14, opacity,
					fill: hit ? css['hit-text'] : css.text }, text));
		svg.append(g);
	});
	return svg;
}
function download(blob, name) {
	const a = element('a');
	a.href = URL.createObjectURL(blob);
	a.download = name;
	a.click();
	setTimeout(() => URL.revokeObjectURL(a.href), 10000);
}
function saveSvg() {
	download(new Blob([new XMLSerializer().serializeToString(drawing())], { type: 'image/svg+xml' }), 'flamegraph.svg');
}
function savePng() {
	const c = element('canvas'), h = Math.min(rowsDrawn, ROWS_SAVED) * ROW;
	c.width = width * 2;
	c.height = h * 2;
	const p = c.getContext('2d');
	p.scale(2, 2);
	p.fillStyle = css.bg;
	p.fillRect(0, 0, width, h);
	p.font = FONT;
	p.textBaseline = 'middle';
	eachVisible(0, h, (pane, i, x, w, y) => {
		const hit = isHit(pane.t.fn[i]);
		p.fillStyle = hit ? css.hit : colourOf(pane.t, i);
		p.fillRect(x, y, Math.max(w - 0.5, THIN), ROW - 1);
		p.fillStyle = hit ? css['hit-text'] : css.text;
		if (w <= TEXT_MIN)
			return;
		const [name, line, at] = labelOf(pane.t.fn[i], w - 9);
		p.fillText(name, x + 4, y + ROW / 2);
		p.globalAlpha = 0.6;
		p.fillText(line, x + 4 + at, y + ROW / 2);
		p.globalAlpha = 1;
	});
	c.toBlob(blob => blob && download(blob, 'flamegraph.png'));
}
