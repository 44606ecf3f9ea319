/* SPDX-License-Identifier: Apache-2.0 */
/* ---- colours ---- */
/* Hue, saturation and name of each profile.frame.type. */
const TYPES = {
	native: [28, 82, 'native'], kernel: [212, 22, 'kernel'], cpython: [48, 88, 'Python'],
	jvm: [140, 46, 'JVM'], go: [190, 62, 'Go'], v8js: [75, 58, 'JavaScript'],
	ruby: [355, 68, 'Ruby'], php: [245, 52, 'PHP'], perl: [225, 66, 'Perl'],
	dotnet: [275, 50, '.NET'], beam: [322, 50, 'BEAM'], luajit: [260, 70, 'LuaJIT'],
	rust: [14, 70, 'Rust'], process: [0, 0, 'process'], '': [0, 0, 'unknown'],
};
const typeOf = f => f < 0 ? 'process' : S[F[f][TYPE]];
const hueOf = t => Object.hasOwn(TYPES, t) ? TYPES[t] : [95, 30, t];

/* The degrees by which a kind of samples turns the hues. CPU time, memory, other time and events
   have different colours, so that nobody confuses two graphs. */
function turnOf(k) {
	const [type, unit, period] = [S[k[0]], S[k[1]], S[k[2]]];
	if (type === 'samples' || type === 'cpu')
		return 0;
	return unit === 'bytes' || period === 'space' ? 100 : unit === 'nanoseconds' ? 190 : 290;
}

const dark = matchMedia('(prefers-color-scheme: dark)');
const css = {};
const cache = new Map();
function readTheme() {
	const s = getComputedStyle(document.documentElement);
	for (const k of ['bg', 'text', 'dim', 'hit', 'hit-text', 'accent', 'line', 'bar', 'bad', 'hole', 'panel'])
		css[k] = s.getPropertyValue('--' + k).trim();
	cache.clear();
}
function colour(type, spread) {
	const turn = turnOf(kindNow());
	const key = type + '/' + spread + '/' + turn;
	let c = cache.get(key);
	if (!c) {
		const [h, s] = hueOf(type);
		const hue = (h + turn) % 360, sat = dark.matches ? s * 0.62 : s;
		/* blue is darker than other hues, and has text on it */
		const blue = hue > 205 && hue < 300 ? 7 : 0;
		const l = dark.matches ? 32 + spread * 1.6 : 70 + blue + spread * 1.8;
		c = `hsl(${hue + (spread - 3) * 1.6} ${sat}% ${l}%)`;
		cache.set(key, c);
	}
	return c;
}
/* The shade comes from the name, so a function has the same one on every page. */
const spreads = new Int8Array(F.length).fill(-1);
function spreadOf(f) {
	if (f < 0)
		return 4;
	if (spreads[f] < 0) {
		let h = 7;
		for (const ch of nameOf(f).slice(0, 60))
			h = (h * 31 + ch.codePointAt(0)) >>> 0;
		spreads[f] = h % 7;
	}
	return spreads[f];
}
/* Red grew, blue shrank. The largest change has the deepest colour. */
function changeColour(v) {
	const x = Math.round(8 * Math.sqrt(Math.abs(v)));
	const l = dark.matches ? 26 + x * 2.6 : 92 - x * 4.2;
	return `hsl(${v < 0 ? 215 : 4} ${x ? 40 + x * 5 : 0}% ${l}%)`;
}
const mostOf = t => T.most[t.by || view.colour];
const colourOf = (t, i) => B ? changeColour(mostOf(t) ?
	Math.max(-1, Math.min(1, change(t, i) / mostOf(t))) : 0) : colour(typeOf(t.fn[i]), spreadOf(t.fn[i]));
