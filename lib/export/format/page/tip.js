/* SPDX-License-Identifier: Apache-2.0 */
/* ---- words about a node ---- */
function facts({ pane, i }) {
	const t = pane.t, fn = t.fn[i], all = t.all[told()], out = [];
	out.push(['Total', [amount(t.total[i]), percent(t.total[i], all) + chance(t.total[i], all), samples(t.total[i])]]);
	if (fn >= 0)
		out.push(['Self', [amount(t.self[i]), percent(t.self[i], all), samples(t.self[i])]]);
	if (B)
		for (const [s, word] of [[0, 'Before'], [1, 'After']])
			out.push([word, [`total ${amount(t.totals[s][i])}, ${share(t, i, s, 'total').toFixed(2)}%`,
				`self ${amount(t.selfs[s][i])}, ${share(t, i, s, 'self').toFixed(2)}%`]]);
	if (B)
		out.push(['Change', ['total ' + points(change(t, i, 'total')), 'self ' + points(change(t, i, 'self'))]]);
	if (pane.zoom)
		out.push(['Of zoom', [percent(t.total[i], t.total[pane.zoom])]]);
	if (fn >= 0) {
		const lines = linesOf(fn), sum = lines.reduce((n, l) => n + l[1], 0);
		if (lines.length)
			out.push([lines.length > 1 ? 'Hot lines' : 'Line',
				lines.slice(0, 3).map(l => shortPath(S[F[fn][FILE]]) + ':' + l[0] + (lines.length > 1 ? ` (${percent(l[1], sum)})` : ''))]);
		if (place(fn))
			out.push(['Begins at', [place(fn)]]);
		if (S[F[fn][MODULE]])
			out.push(['Module', [S[F[fn][MODULE]]]]);
		out.push(['Type', [hueOf(typeOf(fn))[2]]]);
	}
	return out.map(([k, v]) => [k, v.filter(Boolean).join(', ')]);
}
function describe(what) {
	$('status').textContent = !what ? '' : nameOf(what.pane.t.fn[what.i]) + ' — ' +
		facts(what).map(([k, v]) => k.toLowerCase() + ' ' + v).join(' · ');
}
function placeTip(x, y) {
	const tip = $('tip'), box = tip.getBoundingClientRect();
	const left = x + 14 + box.width > innerWidth ? x - 14 - box.width : x + 14;
	const topSide = y + 16 + box.height > innerHeight ? y - 12 - box.height : y + 16;
	tip.style.left = Math.max(4, left) + 'px';
	tip.style.top = Math.max(4, topSide) + 'px';
}
/* Show a heading and pairs of words; no heading: hide the tip. */
function showTip(heading, pairs, x, y) {
	const tip = $('tip');
	tip.hidden = !heading;
	if (!heading)
		return;
	const list = element('dl');
	for (const [k, v] of pairs)
		list.append(element('dt', k), element('dd', v));
	tip.replaceChildren(element('b', heading), list);
	placeTip(x, y);
}
