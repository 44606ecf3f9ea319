// SPDX-License-Identifier: Apache-2.0
'use strict';
/*
 * young.js SECONDS - code that lives for a moment: a function of its own name, line and file (by
 * sourceURL) burns 5 ms in burn() and is dropped. At the end, which no pause comes before, it says
 * "now NAME LINE BEGIN END" of each, in nanoseconds since the epoch.
 */
const { performance } = require('perf_hooks');
const fs = require('fs');
/* At the change of a millisecond. performance.timeOrigin is late where the process had to wait. */
const origin = Math.max(...[1, 2, 3, 4, 5].map(() => {
	const last = Date.now();
	while (Date.now() === last)
		;
	return Date.now() - performance.now();
}));
const now = () => origin + performance.now();
const said = [];

function burn(end) { // burn
	let x = 1; // burn
	while (now() < end) // burn
		for (let i = 0; i < 500; i++) // burn
			x = (x * 31 + i) & 0xffff; // burn
	return x; // burn
}

const ns = (ms) => BigInt(Math.round(ms * 1e6));
const end = now() + 1000 * Number(process.argv[2]);
for (let n = 0; now() < end; n++) {
	const line = 3 + n * 7 % 40; // the text of new Function has two more in front
	const text = '\n'.repeat(line - 3) + `return function made_${n}(end) { const r = burn(end); return r + 1; }` +
		`\n//# sourceURL=made/${n}.js`;
	const made = new Function('burn', text)(burn);
	const begin = now();
	made(begin + 5);
	said.push(`now made_${n} ${line} ${ns(begin)} ${ns(now())}\n`);
	if (said.length == 20)
		fs.writeSync(1, said.splice(0).join(''));
}
fs.writeSync(1, said.join(''));
process.exit();
