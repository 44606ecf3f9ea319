// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Linq;
using System.Text;

class Work
{
	static int Fib(int n) { return n < 2 ? n : Fib(n - 1) + Fib(n - 2); }

	static int Counts(int n)
	{
		var d = new Dictionary<string, int>();
		for (int i = 0; i < n; i++) {
			int old;
			d.TryGetValue("k" + i % 997, out old);
			d["k" + i % 997] = old + 1;
		}
		return d.Count;
	}

	static int Thrown(int n)
	{
		int sum = 0;
		for (int i = 0; i < n; i++)
			try { sum += int.Parse(i % 3 == 0 ? "x" : i.ToString()); } catch (FormatException) { sum++; }
		return sum;
	}

	static void Main()
	{
		for (;;) {
			int sum = Fib(27) + Counts(20000) + Thrown(300);
			sum += Enumerable.Range(0, 20000).Select(i => i * 7919 % 10007).OrderBy(i => -i).First();
			new StringBuilder().AppendFormat("{0:F3}", Math.Sin(sum));
		}
	}
}
