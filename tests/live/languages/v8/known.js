// SPDX-License-Identifier: Apache-2.0
/*
 * A program whose stacks are known, for what embeds V8: a chain of 24 functions, then one of three
 * leaves with 50, 30 and 20 % of the iterations. An iteration waits for its multiplications, so
 * that it takes the same time wherever the code lies. v8.py adds a line that starts it. Lines that
 * end with "// MARK" are those that a frame of that name may show.
 */
const known = (() => {
	let turn = 0;
	let sink = 0;

	function leafA(n) {
		let s = 1; // leafA
		for (let i = 0; i < n; i++) { // leafA
			s = (((s * 37 + i | 0) * 37 + i | 0) * 37 + i | 0) * 37 + i | 0; // leafA
			if (i % 5000 === 0) // leafA
				s ^= Date.now(); // leafA
		} // leafA
		return s; // leafA
	} // leafA

	function leafB(n) {
		let s = 1; // leafB
		for (let i = 0; i < n; i++) { // leafB
			s = (((s * 37 + i | 0) * 37 + i | 0) * 37 + i | 0) * 37 + i | 0; // leafB
			if (i % 5000 === 0) // leafB
				s ^= Date.now(); // leafB
		} // leafB
		return s; // leafB
	} // leafB

	function leafC(n) {
		let s = 1; // leafC
		for (let i = 0; i < n; i++) { // leafC
			s = (((s * 37 + i | 0) * 37 + i | 0) * 37 + i | 0) * 37 + i | 0; // leafC
			if (i % 5000 === 0) // leafC
				s ^= Date.now(); // leafC
		} // leafC
		return s; // leafC
	} // leafC

	function f24(n) { // f24
		const t = turn++ % 10; // f24
		if (t < 5) // f24
			return leafA(n); // f24
		if (t < 8) // f24
			return leafB(n); // f24
		return leafC(n); // f24
	} // f24
	function f23(n) { return f24(n) + 1; } // f23
	function f22(n) { return f23(n) + 1; } // f22
	function f21(n) { return f22(n) + 1; } // f21
	function f20(n) { return f21(n) + 1; } // f20
	function f19(n) { return f20(n) + 1; } // f19
	function f18(n) { return f19(n) + 1; } // f18
	function f17(n) { return f18(n) + 1; } // f17
	function f16(n) { return f17(n) + 1; } // f16
	function f15(n) { return f16(n) + 1; } // f15
	function f14(n) { return f15(n) + 1; } // f14
	function f13(n) { return f14(n) + 1; } // f13
	function f12(n) { return f13(n) + 1; } // f12
	function f11(n) { return f12(n) + 1; } // f11
	function f10(n) { return f11(n) + 1; } // f10
	function f9(n) { return f10(n) + 1; } // f9
	function f8(n) { return f9(n) + 1; } // f8
	function f7(n) { return f8(n) + 1; } // f7
	function f6(n) { return f7(n) + 1; } // f6
	function f5(n) { return f6(n) + 1; } // f5
	function f4(n) { return f5(n) + 1; } // f4
	function f3(n) { return f4(n) + 1; } // f3
	function f2(n) { return f3(n) + 1; } // f2
	function f1(n) { return f2(n) + 1; } // f1

	return function spin(turns) {
		for (let i = 0; i < turns; i++) // spin
			sink += f1(50000); // spin
		return sink;
	};
})();
