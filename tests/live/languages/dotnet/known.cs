// SPDX-License-Identifier: Apache-2.0
// Scenes whose stacks are known. Each runs for the seconds of the first argument in turn, and says
// "scene NAME OUTERMOST ... LEAF": the methods of this program on its stacks.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;
using System.Threading.Tasks;

delegate int Compare(IntPtr a, IntPtr b);

static class Known
{
	const MethodImplOptions Apart = MethodImplOptions.NoInlining;
	static double seconds;
	static long sink;
	static Stopwatch clock;

	[MethodImpl(Apart)]
	static int Work(int n)
	{
		int sum = 0;
		for (int i = 0; i < 200000; i++)
			sum += i * n ^ sum;
		sink += sum;
		return sum;
	}

	static bool Over() => clock.Elapsed.TotalSeconds > seconds;

	[MethodImpl(Apart)] static int F8(int n) => Work(n) + 1;
	[MethodImpl(Apart)] static int F7(int n) => F8(n) + 1;
	[MethodImpl(Apart)] static int F6(int n) => F7(n) + 1;
	[MethodImpl(Apart)] static int F5(int n) => F6(n) + 1;
	[MethodImpl(Apart)] static int F4(int n) => F5(n) + 1;
	[MethodImpl(Apart)] static int F3(int n) => F4(n) + 1;
	[MethodImpl(Apart)] static int F2(int n) => F3(n) + 1;
	[MethodImpl(Apart)] static int F1(int n) => F2(n) + 1;

	[MethodImpl(Apart)]
	static void Chain() { do F1(3); while (!Over()); }

	[MethodImpl(Apart)]
	static int Down(int n) => n == 0 ? Work(3) : Down(n - 1) + 1;

	[MethodImpl(Apart)]
	static void Recursion() { do Down(20); while (!Over()); }

	[MethodImpl(Apart)]
	static void Lambda()
	{
		var list = new List<string> { "a", "b" };
		do list.ForEach([MethodImpl(Apart)] (s) => sink += Work(s.Length)); while (!Over());
	}

	[MethodImpl(Apart)]
	static void Local()
	{
		[MethodImpl(Apart)] static int Inner(int n) => Work(n) + 1;
		do sink += Inner(2); while (!Over());
	}

	[MethodImpl(Apart)]
	static void Sorted()
	{
		do Array.Sort(new[] { "c", "b", "a" }, [MethodImpl(Apart)] (a, b) => Work(2) == 7 ? 1 : string.CompareOrdinal(a, b));
		while (!Over());
	}

	[MethodImpl(Apart)]
	static int Large(int n)
	{
		Span<byte> bytes = stackalloc byte[n];
		bytes[n / 2] = 1;
		return Work(bytes[n / 2]) + bytes[0];
	}

	[MethodImpl(Apart)]
	static void Stack() { do sink += Large(100 + (int)(sink & 255)); while (!Over()); }

	[DllImport("libc")]
	static extern void qsort(IntPtr at, UIntPtr n, UIntPtr size, Compare compare);

	[MethodImpl(Apart)]
	static unsafe void Callback()
	{
		var numbers = new long[] { 3, 1, 2 };
		Compare compare = ByWork;
		fixed (long *p = numbers)
			do qsort((IntPtr)p, (UIntPtr)3, (UIntPtr)8, compare); while (!Over());
		GC.KeepAlive(compare);
	}

	static int ByWork(IntPtr a, IntPtr b) => Work(3) == 7 ? 1 : 0;

	struct Box<T>
	{
		public T value;
		[MethodImpl(Apart)] public int Hold<U>(U u) => Work(value.GetHashCode() + u.GetHashCode()) + 1;
	}

	[MethodImpl(Apart)]
	static void Generic()
	{
		var box = new Box<int> { value = 3 };
		do sink += box.Hold("a") + box.Hold(3L); while (!Over());
	}

	[MethodImpl(Apart)]
	static void Finally()
	{
		do {
			try { throw new InvalidOperationException(); }
			catch (InvalidOperationException) when (Work(1) != 7) { Work(2); }
			finally { Work(3); }
		} while (!Over());
	}

	[MethodImpl(Apart)]
	static async Task Await()
	{
		do { await Task.Yield(); Work(3); } while (!Over());
	}

	[MethodImpl(Apart)]
	static void Async() { Await().Wait(); }

	[MethodImpl(Apart)]
	static void Reflected()
	{
		var method = typeof(Known).GetMethod("F7", BindingFlags.Static | BindingFlags.NonPublic);
		var n = new object[] { 3 };
		do method.Invoke(null, n); while (!Over());
	}

	[MethodImpl(Apart)]
	static void InThread() { do F7(3); while (!Over()); }

	[MethodImpl(Apart)]
	static void Threads()
	{
		var t = new Thread(InThread);
		t.Start();
		t.Join();
	}

	static void Run(string name, Action scene, string stack)
	{
		Console.WriteLine("scene " + name + " " + stack);
		clock = Stopwatch.StartNew();
		scene();
	}

	static void Main(string[] args)
	{
		seconds = double.Parse(args[0], System.Globalization.CultureInfo.InvariantCulture);
		Console.WriteLine("pid " + Environment.ProcessId);
		Console.Out.Flush();
		Thread.Sleep(4000);
		Run("chain", Chain, "Main Run Chain F1 F2 F3 F4 F5 F6 F7 F8 Work");
		Run("recursion", Recursion, "Main Run Recursion" +
		    string.Concat(System.Linq.Enumerable.Repeat(" Down", 21)) + " Work");
		Run("lambda", Lambda, "Main Run Lambda Lambda.<lambda> Work");
		Run("local", Local, "Main Run Local Local.Inner Work");
		Run("sorted", Sorted, "Main Run Sorted Sorted.<lambda> Work");
		Run("stack", Stack, "Main Run Stack Large Work");
		Run("callback", Callback, "Main Run Callback ByWork Work");
		Run("generic", Generic, "Main Run Generic Box`1.Hold Work");
		Run("async", Async, "Await Work");
		Run("reflected", Reflected, "Main Run Reflected F7 F8 Work");
		Run("threads", Threads, "InThread F7 F8 Work");
		Run("filter", Finally, "Main Run Finally Finally Work");
		Run("may-finally", Finally, "Main Run Finally Work");
	}
}
