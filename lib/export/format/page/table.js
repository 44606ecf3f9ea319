/* SPDX-License-Identifier: Apache-2.0 */
/* ---- the table of functions ---- */
const ROWS_TABLE = 500;
let tableBy = B ? 'change' : 'self';
/* Of each function its own value and the value of the stacks that it is on, which count once. */
function sumsOf(selfs, totals) {
	const self = new Map(), total = new Map(), onPath = new Map();
	const todo = [0], leave = [];
	while (todo.length) {
		const i = todo.pop();
		if (i < 0) {
			const f = leave.pop();
			onPath.set(f, onPath.get(f) - 1);
			continue;
		}
		const f = T.fn[i], depth = onPath.get(f) || 0;
		if (f >= 0) {
			if (!depth)
				total.set(f, (total.get(f) || 0) + totals[i]);
			const own = view.inverted ? (T.depth[i] === 1 ? totals[i] : 0) : selfs[i];
			self.set(f, (self.get(f) || 0) + own);
		}
		onPath.set(f, depth + 1);
		leave.push(f);
		todo.push(-1);
		for (let k = T.first[i]; k < T.first[i + 1]; k++)
			todo.push(T.kids[k]);
	}
	return { self, total };
}
function functionSums() {
	const side = told(), sums = [B && sumsOf(T.selfs[0], T.totals[0]), sumsOf(T.selfs[1], T.totals[1])];
	const of = (what, f, s) => T.all[s] ? 100 * (sums[s][what].get(f) || 0) / T.all[s] : 0;
	const differ = (what, f) => B ? of(what, f, 1) - of(what, f, 0) : 0;
	return [...sums[side].total].map(([f, v]) => ({ f, sums, total: v, self: sums[side].self.get(f) || 0,
		change: differ('total', f), grown: differ('self', f) }));
}
function tableRow(r) {
	const tr = element('tr'), all = T.all[told()], f = r.f;
	const cell = (text, c) => {
		const td = element('td', text, c);
		tr.append(td);
		return td;
	};
	cell(amount(r.self), 'n');
	cell(percent(r.self, all), 'n');
	cell(amount(r.total), 'n');
	cell(percent(r.total, all), 'n');
	if (B) {
		cell(points(r.grown), 'n');
		cell(points(r.change), 'n');
	}
	cell(undefined, 'name').append(button(nameOf(f), () => pick(f), 'Callers and callees'));
	/* shares of two recordings are compared, not their lines */
	const hot = B ? element('td') : cell(shortPath(hotLine(f)), 'dim line-of');
	hot.title = [hotLine(f), place(f) && 'begins at ' + place(f)].filter(Boolean).join('; ');
	cell(hueOf(typeOf(f))[2], 'dim type');
	cell(S[F[f][MODULE]].split('/').pop(), 'dim').title = S[F[f][MODULE]];
	return tr;
}
function fillTable() {
	if (view.show !== 'table')
		return;
	const rows = functionSums().filter(r => !hits || isHit(r.f));
	const weight = r => tableBy === 'change' || tableBy === 'grown' ? Math.abs(r[tableBy]) : r[tableBy];
	rows.sort((a, b) => weight(b) - weight(a) || b.self - a.self || b.total - a.total || (nameOf(a.f) < nameOf(b.f) ? -1 : 1));
	for (const by of ['self', 'total', 'change', 'grown'])
		$('th-' + by).setAttribute('aria-sort', tableBy === by ? 'descending' : 'none');
	$('rows').replaceChildren(...rows.slice(0, ROWS_TABLE).map(tableRow));
	$('more').textContent = rows.length > ROWS_TABLE ? `${ROWS_TABLE} of ${grouping.format(rows.length)} functions; a search shows others.` :
		rows.length || !hits ? '' : 'No function matches the search.';
}
