/* SPDX-License-Identifier: Apache-2.0 */
/* ---- the table of functions ---- */
const ROWS_TABLE = 500;
let tableBy = B ? 'change' : 'self';
/* For each function and side: its self value, and the value of the stacks that it is on. Recursion
   counts once. */
function functionSums() {
	const side = told(), sides = B ? [0, 1] : [1], amounts = () => [0, 1].map(() => new Float64Array(F.length));
	const self = amounts(), total = amounts(), onPath = new Int32Array(F.length);
	/* i enters a node, ~i leaves it */
	const seen = new Set(), todo = [0];
	while (todo.length) {
		const i = todo.pop(), f = T.fn[i < 0 ? ~i : i];
		if (i < 0) {
			onPath[f]--;
			continue;
		}
		if (f >= 0) {
			if (!onPath[f]++)
				seen.add(f);
			for (const s of sides) {
				if (onPath[f] === 1)
					total[s][f] += T.totals[s][i];
				self[s][f] += !view.inverted ? T.selfs[s][i] : T.depth[i] === 1 ? T.totals[s][i] : 0;
			}
			todo.push(~i);
		}
		for (let k = T.first[i]; k < T.first[i + 1]; k++)
			todo.push(T.kids[k]);
	}
	const of = (what, f, s) => T.all[s] ? 100 * what[s][f] / T.all[s] : 0;
	const differ = (what, f) => B ? of(what, f, 1) - of(what, f, 0) : 0;
	return [...seen].map(f => ({ f, total: total[side][f], self: self[side][f], selfs: [0, 1].map(s => of(self, f, s)),
		change: differ(total, f), grown: differ(self, f) }));
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
	/* a comparison has no lines */
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
