/* SPDX-License-Identifier: Apache-2.0 */
/* ---- which samples are shown ---- */
/* The times of the samples, parsed when first needed; null: the page has none. */
let M;
function moments() {
	if (M === undefined) {
		M = parse('moments');
		if (M && (M.full || !M.bins || !M.trees.length))
			M = null;
		if (M)
			M.of = new Map(M.trees.map(t => [t.tree, t]));
	}
	return M;
}
/* A list of equal numbers is written as one number. */
const at = (list, i) => typeof list === 'number' ? list : list[i];

const isOfProcess = t => view.process === '' || (view.process[0] === 'p' ?
	t.p === +view.process.slice(1) : processName(t.p) === view.process.slice(1));
/* The trees of a kind, each as [its number, the tree]. */
const treesOf = kind => [...D.trees.entries()].filter(([, t]) => t.k === kind);
const chosenTrees = (kind = view.kind) => treesOf(kind).filter(([, t]) => isOfProcess(t));

/* A thread is chosen by number, "t12", or all threads of a name, "nworker". */
const isOfThread = n => view.thread === '' || (view.thread[0] === 't' ?
	n === +view.thread.slice(1) : S[M.threads[n][2]] === view.thread.slice(1) && n > 0);
const isWhole = () => view.from <= 0 && view.to === Infinity;
const isFiltered = () => !B && (view.thread !== '' || view.trace !== '' || !isWhole());

/* Call fn(node, value, bin, thread, trace) for each sample of tree number i. */
function eachMoment(i, fn) {
	const e = moments() && M.of.get(i);
	if (!e)
		return;
	let node = 0;
	for (let k = 0; k < e.len; k++) {
		node += e.n[k];
		fn(node, at(e.v, k), at(e.b, k), at(e.t, k), at(e.x, k));
	}
}
/* The self values of a tree's nodes and of its root, after the filters. */
function valuesOf(i, tree) {
	if (!isFiltered())
		return { s: tree.s, o: tree.o };
	const s = new Float64Array(tree.f.length), threads = new Map();
	const trace = view.trace === '' ? -1 : +view.trace;
	let o = 0;
	eachMoment(i, (node, v, bin, thread, x) => {
		if (bin < view.from || bin > view.to || (trace >= 0 && x !== trace))
			return;
		let ok = threads.get(thread);
		if (ok === undefined)
			threads.set(thread, ok = isOfThread(thread));
		if (!ok)
			return;
		if (node < 0)
			o += v;
		else
			s[node] += v;
	});
	return { s, o };
}

/* Do programs of an interpreter or a virtual machine have most of the time? */
const MANAGED = ['cpython', 'jvm', 'v8js', 'php', 'ruby', 'perl', 'dotnet', 'beam', 'luajit'];
function isManaged() {
	const managed = F.map(f => MANAGED.includes(S[f[TYPE]])), on = [];
	let all = 0, some = 0;
	if (!managed.includes(true))
		return false;
	for (const [, t] of treesOf(view.kind))
		for (let i = 0; i < t.f.length; i++) {
			const d = t.d[i];
			on[d] = (d > 0 && on[d - 1]) || managed[t.f[i]];
			all += t.s[i];
			some += on[d] ? t.s[i] : 0;
		}
	return some > all / 2;
}
/* May "Hide runtime" hide the function? Not code of the user or of a library. */
const isHidden = f => f >= 0 && F[f][CLASS] > LANGUAGE && F[f][CLASS] < NONE;
