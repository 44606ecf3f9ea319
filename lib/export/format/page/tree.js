/* SPDX-License-Identifier: Apache-2.0 */
/* ---- trees: parallel arrays, node 0 is the root, a child has a higher number ---- */
class Tree {
	constructor(nodes, root) {
		this.fn = new Int32Array(nodes);
		this.parent = new Int32Array(nodes);
		this.depth = new Int32Array(nodes);
		/* before (only on a page that compares two recordings), and after */
		this.selfs = [new Float64Array(B ? nodes : 0), new Float64Array(nodes)];
		this.fn[0] = root;
		this.parent[0] = -1;
		this.len = 1;
		this.slots = null;
	}
	/* Copy a tree of the page below base. Only if no other tree is merged with it. */
	copy({ f, d }, s, base) {
		const first = this.len, above = [], depth = this.depth[base] + 1;
		this.fn.set(f, first);
		this.selfs[1].set(s, first);
		for (let i = 0; i < f.length; i++) {
			const at = d[i];
			above[at] = first + i;
			this.parent[first + i] = at ? above[at - 1] : base;
			this.depth[first + i] = depth + at;
		}
		this.len += f.length;
	}
	push(parent, fn) {
		const n = this.len++;
		this.fn[n] = fn;
		this.parent[n] = parent;
		this.depth[n] = this.depth[parent] + 1;
		return n;
	}
	/* The slot of the child (parent, function): open addressing, node numbers; 0 is a free slot. */
	slot(parent, fn) {
		const mask = this.slots.length - 1;
		let h = Math.imul(Math.imul(parent, 0x9e3779b1) ^ fn, 0x85ebca6b);
		for (h = (h ^ h >>> 15) & mask; ; h = (h + 1) & mask) {
			const n = this.slots[h];
			if (!n || (this.parent[n] === parent && this.fn[n] === fn))
				return h;
		}
	}
	child(parent, fn) {
		if (!this.slots) {
			let size = 1024;
			while (size < this.fn.length * 2)
				size *= 2;
			this.slots = new Int32Array(size);
			for (let n = 1; n < this.len; n++)
				this.slots[this.slot(this.parent[n], this.fn[n])] = n;
		}
		const h = this.slot(parent, fn);
		return this.slots[h] || (this.slots[h] = this.push(parent, fn));
	}
	/* Like child(), if each added tree has the children of a node in the order of their functions. The
	   search begins at the last child of that tree, which is much faster. */
	next(parent, fn, tree) {
		if (!this.kid) {
			for (const k of ['kid', 'after', 'last', 'of'])
				this[k] = new Int32Array(this.fn.length);
		}
		let before = this.of[parent] === tree ? this.last[parent] : 0;
		let n = before ? this.after[before] : this.kid[parent];
		for (; n && this.fn[n] < fn; n = this.after[n])
			before = n;
		if (!n || this.fn[n] !== fn) {
			const made = this.push(parent, fn);
			this.after[made] = n;
			if (before)
				this.after[before] = made;
			else
				this.kid[parent] = made;
			n = made;
		}
		this.of[parent] = tree;
		return this.last[parent] = n;
	}
	/* Totals, and what the layout needs. */
	finish(all) {
		this.slots = this.kid = this.after = this.last = this.of = null;
		for (const k of ['fn', 'parent', 'depth'])
			this[k] = this[k].subarray(0, this.len);
		this.selfs = this.selfs.map(x => x.subarray(0, this.len));
		this.self = this.selfs[told()];
		this.totals = this.selfs.map(x => this.sums(x));
		this.total = this.totals[told()];
		/* the whole of each side, for shares */
		this.all = all || this.totals.map(x => x[0] || 0);
		/* Widths: the values of one side, or the larger share of each node. */
		this.wide = B && view.side === 'both' ? this.sums(this.larger()) : this.total;
		this.rows = 1;
		this.first = new Uint32Array(this.len + 1);
		for (let i = 1; i < this.len; i++) {
			this.first[this.parent[i] + 1]++;
			if (this.depth[i] >= this.rows)
				this.rows = this.depth[i] + 1;
		}
		for (let i = 0; i < this.len; i++)
			this.first[i + 1] += this.first[i];
		const fill = this.first.slice();
		this.kids = new Uint32Array(this.len);
		for (let i = 1; i < this.len; i++)
			this.kids[fill[this.parent[i]]++] = i;
		/* x of each node, in values. Children get theirs when they are drawn. */
		this.x = new Float64Array(this.len);
		this.laid = new Uint8Array(this.len);
		this.most = { self: 0, total: 0, grew: { self: 0, total: 0 }, shrank: { self: 0, total: 0 } };
		for (const by of B ? ['self', 'total'] : []) {
			let grew = 0, shrank = 0;
			for (let i = 1; i < this.len; i++) {
				const c = change(this, i, by);
				if (c > grew)
					grew = c;
				else if (c < shrank)
					shrank = c;
			}
			this.most.grew[by] = grew;
			this.most.shrank[by] = shrank;
			this.most[by] = Math.max(grew, -shrank);
		}
		return this;
	}
	sums(self) {
		const total = self.slice();
		for (let i = self.length - 1; i > 0; i--)
			total[this.parent[i]] += total[i];
		return total;
	}
	larger() {
		const all = this.all.map(v => v || 1);
		return this.selfs[0].map((v, i) => Math.max(v / all[0], this.selfs[1][i] / all[1]));
	}
	/* Place the children of node i, by size, then by function. */
	lay(i) {
		if (this.laid[i])
			return;
		this.laid[i] = 1;
		const from = this.first[i], to = this.first[i + 1];
		if (to - from > 1)
			this.kids.subarray(from, to).sort((a, b) =>
				this.wide[b] - this.wide[a] || this.fn[a] - this.fn[b]);
		let x = this.x[i];
		for (let k = from; k < to; k++) {
			this.x[this.kids[k]] = x;
			x += this.wide[this.kids[k]];
		}
	}
	layTo(i) {
		const path = [];
		for (let a = this.parent[i]; a >= 0; a = this.parent[a])
			path.push(a);
		while (path.length)
			this.lay(path.pop());
	}
	isAncestor(a, i) {
		while (i > a)
			i = this.parent[i];
		return i === a;
	}
}

/* A node's share of the whole in percent, and its change from before to after in points. */
const share = (t, i, s, by) => {
	const v = by === 'self' ? t.selfs[s] : t.totals[s];
	return t.all[s] ? 100 * v[i] / t.all[s] : 0;
};
const change = (t, i, by = t.by || view.colour) => share(t, i, 1, by) - share(t, i, 0, by);

/* The only frame of a stack whose frames are all hidden. */
const LEFT_OUT = F.push([S.push('[only runtime, C library or kernel]') - 1, 0, 0, 0, 0, NONE]) - 1;

/* Add a tree, callers first. Only stacks with a value get nodes, so that filtered samples have none.
   It is number n of the added trees. */
function addDown(t, tree, s, base, n) {
	const path = [], nodes = [], self = t.selfs[sideOf(tree)], { f, d } = tree;
	const sorted = !B && !view.hide;
	let made = 0;
	for (let i = 0; i < f.length; i++) {
		path[d[i]] = f[i];
		if (d[i] < made)
			made = d[i];
		if (!s[i])
			continue;
		for (; made <= d[i]; made++) {
			const above = made ? nodes[made - 1] : base, fn = path[made];
			nodes[made] = sorted ? t.next(above, fn, n) : view.hide && isHidden(fn) ? above : t.child(above, fn);
		}
		self[view.hide && nodes[d[i]] === base ? t.child(base, LEFT_OUT) : nodes[d[i]]] += s[i];
	}
}
/* Add a tree, leaves first. */
function addUp(t, tree, s, base) {
	const path = [], self = t.selfs[sideOf(tree)];
	for (let i = 0; i < tree.f.length; i++) {
		path[tree.d[i]] = tree.f[i];
		if (!s[i])
			continue;
		let n = base;
		for (let d = tree.d[i]; d >= 0; d--)
			if (!view.hide || !isHidden(path[d]))
				n = t.child(n, path[d]);
		self[n === base ? t.child(base, LEFT_OUT) : n] += s[i];
	}
}
const upNodes = (tree, s) => tree.f.reduce((n, f, i) => n + (s[i] ? tree.d[i] + 2 : 0), 1);

/* One tree of all chosen samples. */
function wholeTree() {
	const parts = chosenTrees().map(([i, tree]) => ({ tree, ...valuesOf(i, tree) }));
	const bases = new Map(), alone = new Map(), asItIs = !B && !view.hide && !isFiltered();
	let nodes = 2;
	for (const x of parts) {
		x.name = processName(x.tree.p);
		alone.set(x.name, asItIs && !bases.has(x.name));
		bases.set(x.name, 0);
		nodes += view.inverted ? upNodes(x.tree, x.s) : x.tree.f.length + 3;
	}
	const t = new Tree(nodes, -1), grouped = bases.size > 1 && !view.inverted, seen = new Set();
	parts.forEach((x, i) => {
		if (!x.o && !x.s.some(v => v))
			return;
		seen.add(x.tree.p);
		if (grouped && !bases.get(x.name))
			bases.set(x.name, t.push(0, processFunction(x.name)));
		const base = bases.get(x.name);
		if (view.inverted)
			addUp(t, x.tree, x.s, base);
		else if (alone.get(x.name))
			t.copy(x.tree, x.s, base);
		else
			addDown(t, x.tree, x.s, base, i + 1);
		t.selfs[sideOf(x.tree)][base] += x.o;
	});
	t.processes = seen.size;
	return t.finish();
}

/* The callers and the callees of function f, as two trees. A stack counts once, at its outermost f.
   If there are several processes, the callers end with the process's name. */
function aroundTrees(t, f) {
	const inside = new Int32Array(t.len), callees = new Tree(t.len + 1, f);
	let nodes = 1;
	for (let i = 0; i < t.len; i++)
		if (t.fn[i] === f)
			nodes += t.depth[i];
	const callers = new Tree(nodes, f);
	for (let i = 1; i < t.len; i++) {
		const above = inside[t.parent[i]];
		if (!above && t.fn[i] !== f)
			continue;
		/* the node of callees, plus 1 */
		const n = above ? callees.child(above - 1, t.fn[i]) : 0;
		inside[i] = n + 1;
		for (const s of B ? [0, 1] : [1])
			callees.selfs[s][n] += t.selfs[s][i];
		if (above)
			continue;
		let up = 0;
		for (let a = t.parent[i]; a > 0; a = t.parent[a])
			up = callers.child(up, t.fn[a]);
		for (const s of B ? [0, 1] : [1])
			callers.selfs[s][up] += t.totals[s][i];
	}
	/* for callers only the value that reaches the function is known */
	callers.by = 'total';
	return [callers.finish(t.all), callees.finish(t.all)];
}
