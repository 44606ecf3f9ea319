/* SPDX-License-Identifier: Apache-2.0 */
/* ---- search: plain text, or a regular expression with ".*" on ---- */
let matcher = null;	/* does a text match? */
let hits = null;	/* by function: 1 it matches, 2 it does not, 0 not known yet */
let matches = [];	/* the outermost nodes that match, the largest first */
let matchAt = -1;
const MATCHES = 5000;

function matcherOf(text) {
	/* case counts if there are capitals */
	const exact = /[A-Z]/.test(text);
	if (view.regex) {
		const re = new RegExp(text, exact ? '' : 'i');
		return s => re.test(s);
	}
	const wanted = exact ? text : text.toLowerCase();
	return exact ? s => s.includes(wanted) : s => s.toLowerCase().includes(wanted);
}
function isHit(f) {
	if (!hits || f === -1)
		return false;
	if (f < 0)
		return matcher(nameOf(f));
	if (!hits[f])
		hits[f] = matcher(nameOf(f)) || matcher(S[F[f][FILE]]) || matcher(S[F[f][MODULE]]) ? 1 : 2;
	return hits[f] === 1;
}
/* Add the matches of a pane. Recursion counts once: a node below a match adds nothing, but a match
   above the zoom does not hide matches inside it. Returns the value of the matches in the zoom. */
function findMatches(pane) {
	const t = pane.t, hit = new Uint8Array(t.len), under = new Uint8Array(t.len);
	const inZoom = new Uint8Array(t.len), underZoom = new Uint8Array(t.len);
	let sum = 0;
	for (let i = 0; i < t.len; i++) {
		const p = t.parent[i];
		hit[i] = t.depth[i] >= pane.from && isHit(t.fn[i]) ? 1 : 0;
		inZoom[i] = i === pane.zoom || (p >= 0 && inZoom[p]) ? 1 : 0;
		under[i] = p >= 0 ? under[p] | hit[p] : 0;
		underZoom[i] = i !== pane.zoom && p >= 0 && inZoom[p] ? underZoom[p] | hit[p] : 0;
		if (hit[i] && !under[i])
			matches.push({ pane, i });
		if (hit[i] && inZoom[i] && !underZoom[i])
			sum += t.total[i];
	}
	return sum;
}

function search() {
	const text = view.q, out = $('matched');
	const kept = matchAt >= 0 ? matches[matchAt] : null;
	let error = '';
	hits = null;
	matches = [];
	try {
		matcher = text ? matcherOf(text) : null;
	} catch (e) {
		error = 'not a regular expression';
	}
	$('search').setAttribute('aria-invalid', String(!!error));
	$('regex').setAttribute('aria-pressed', String(view.regex));
	out.classList.toggle('error', !!error);
	if (matcher && !error && panes.length) {
		hits = new Uint8Array(F.length);
		const main = panes[panes.length - 1], found = percent(panes.map(findMatches).pop(), main.t.total[main.zoom]);
		matches.sort((a, b) => b.pane.t.wide[b.i] - a.pane.t.wide[a.i] || a.i - b.i);
		matches.length = Math.min(matches.length, MATCHES);
		matchAt = matches.findIndex(m => same(m, kept));
		out.textContent = 'matched ' + found + (matchAt >= 0 ? ` · ${matchAt + 1} of ${matches.length}` : '');
	} else {
		matchAt = -1;
		out.textContent = error;
	}
	for (const b of ['previous', 'next'])
		$(b).disabled = !matches.length;
}
/* Go to the next match, or the one before. */
function walk(step) {
	if (!matches.length)
		return;
	if (view.show !== 'flame' && view.show !== 'sandwich')
		setShow('flame');
	matchAt = matchAt < 0 ? (step > 0 ? 0 : matches.length - 1) : (matchAt + step + matches.length) % matches.length;
	bringIntoView(matches[matchAt]);
	search();
	redraw();
}
/* After the text changed, scroll to the largest match. */
function searchFor(text) {
	view.q = text;
	matchAt = -1;
	search();
	if (matches.length && $('scroll').hidden === false)
		reveal(matches[0]);
	fillTable();
	redraw();
	note();
}
