// SPDX-License-Identifier: Apache-2.0
//
// Programs whose stacks are known. For C# 12 and .NET 8 or later.
//
//   known spin SECONDS    a chain of 24 methods F24..F1, then Leaf50, Leaf30 or Leaf20, which use
//                         50, 30 and 20 per cent of the CPU time.
//   known shapes SECONDS  every shape of code in turn. A shape's stack is said first, as the runtime's
//                         StackTrace tells it: "scene NAME", a line a frame of this program (leaf
//                         first: type and method as in metadata, file, line, separated by tabs),
//                         an empty line. Where better code changes the stack, that is said too.
//   known framework SECONDS   methods of the framework that call back, as they were compiled ahead of
//                         time: generic ones, and their handlers. A stack is said as above, with the
//                         frames of the framework.
//   known awaits SECONDS  see awaits.cs.
//
// After "ready PID" the work begins.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Linq;
using System.Linq.Expressions;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

namespace Known;

static class Program
{
	static void Main(string[] args)
	{
		double seconds = double.Parse(args[1], System.Globalization.CultureInfo.InvariantCulture);
		if (args[0] == "spin")
			Spin.Run(seconds);
		else if (args[0] == "framework")
			Framework.Run(seconds);
		else if (args[0] == "awaits")
			Awaits.Go(seconds);
		else
			Shapes.Run(seconds);
	}
}

static unsafe class Spin
{
	const MethodImplOptions Apart = MethodImplOptions.NoInlining;

	[DllImport("libc")] static extern int clock_gettime(int clock, long *to);

	[MethodImpl(Apart)]
	internal static long Cpu()
	{
		long *t = stackalloc long[2];
		clock_gettime(3, t);
		return t[0] * 1000000000 + t[1];
	}

	// A length that changes cannot keep step with the sampling clock.
	static uint number = 1;
	static int length;

	[MethodImpl(Apart)]
	static int Turn(int n)
	{
		int x = n;
		while (n-- > 0)
			x = x * 3 + n & 0xffff;
		return x;
	}

	[MethodImpl(Apart)]
	static int Leaf50(int n)
	{
		int x = n;
		while (n-- > 0)
			x = x * 3 + n & 0xffff;
		return x;
	}

	[MethodImpl(Apart)]
	static int Leaf30(int n)
	{
		int x = n;
		while (n-- > 0)
			x = x * 3 + n & 0xffff;
		return x;
	}

	[MethodImpl(Apart)]
	static int Leaf20(int n)
	{
		int x = n;
		while (n-- > 0)
			x = x * 3 + n & 0xffff;
		return x;
	}

	[MethodImpl(Apart)]
	static int F1(int part)
	{
		if (part == 50)
			return Leaf50(length) + 1;
		if (part == 30)
			return Leaf30(length) + 1;
		return Leaf20(length) + 1;
	}

	[MethodImpl(Apart)] static int F2(int n) => F1(n) + 1;
	[MethodImpl(Apart)] static int F3(int n) => F2(n) + 1;
	[MethodImpl(Apart)] static int F4(int n) => F3(n) + 1;
	[MethodImpl(Apart)] static int F5(int n) => F4(n) + 1;
	[MethodImpl(Apart)] static int F6(int n) => F5(n) + 1;
	[MethodImpl(Apart)] static int F7(int n) => F6(n) + 1;
	[MethodImpl(Apart)] static int F8(int n) => F7(n) + 1;
	[MethodImpl(Apart)] static int F9(int n) => F8(n) + 1;
	[MethodImpl(Apart)] static int F10(int n) => F9(n) + 1;
	[MethodImpl(Apart)] static int F11(int n) => F10(n) + 1;
	[MethodImpl(Apart)] static int F12(int n) => F11(n) + 1;
	[MethodImpl(Apart)] static int F13(int n) => F12(n) + 1;
	[MethodImpl(Apart)] static int F14(int n) => F13(n) + 1;
	[MethodImpl(Apart)] static int F15(int n) => F14(n) + 1;
	[MethodImpl(Apart)] static int F16(int n) => F15(n) + 1;
	[MethodImpl(Apart)] static int F17(int n) => F16(n) + 1;
	[MethodImpl(Apart)] static int F18(int n) => F17(n) + 1;
	[MethodImpl(Apart)] static int F19(int n) => F18(n) + 1;
	[MethodImpl(Apart)] static int F20(int n) => F19(n) + 1;
	[MethodImpl(Apart)] static int F21(int n) => F20(n) + 1;
	[MethodImpl(Apart)] static int F22(int n) => F21(n) + 1;
	[MethodImpl(Apart)] static int F23(int n) => F22(n) + 1;
	[MethodImpl(Apart)] static int F24(int n) => F23(n) + 1;

	// The part of the CPU time that is furthest below its share.
	[MethodImpl(Apart)]
	static int Choose(long a, long b, long c)
	{
		if (a / 50 <= b / 30 && a / 50 <= c / 20)
			return 50;
		return b / 30 <= c / 20 ? 30 : 20;
	}

	[MethodImpl(Apart)]
	public static void Run(double seconds)
	{
		long a = 0, b = 0, c = 0;
		var clock = Stopwatch.StartNew();
		Console.WriteLine("ready " + Environment.ProcessId);
		Console.Out.Flush();
		while (clock.Elapsed.TotalSeconds < seconds) {
			number = number * 1103515245 + 12345;
			length = 500000 + (int)(number >> 8) % 500000;
			int part = Choose(a, b, c);
			long before = Cpu();
			F24(part);
			long time = Cpu() - before;
			if (part == 50)
				a += time;
			else if (part == 30)
				b += time;
			else
				c += time;
		}
	}
}

interface IShape { int Do(int n); }
interface IDefault { [MethodImpl(MethodImplOptions.NoInlining)] int Has(int n) => Shapes.Work(n) + 1; }
interface IGenericVirtual { int Of<T>(T x); }
interface IStatic<T> where T : IStatic<T> { static abstract int Made(int n); }
delegate int Compare(IntPtr a, IntPtr b);

class Base
{
	const MethodImplOptions Apart = MethodImplOptions.NoInlining;
	[MethodImpl(Apart)] public virtual int Virtual(int n) => Shapes.Work(n) + 1;
	[MethodImpl(Apart)] public override string ToString() => Shapes.Work(3) == 7 ? "a" : "b";
	[MethodImpl(Apart)] public override int GetHashCode() => Shapes.Work(3) == 7 ? 1 : 2;
	[MethodImpl(Apart)] public override bool Equals(object o) => Shapes.Work(3) != 7;
}

class Derived : Base, IShape, IDefault, IGenericVirtual, IStatic<Derived>, IDisposable, IComparable<Derived>
{
	const MethodImplOptions Apart = MethodImplOptions.NoInlining;
	int kept;
	public Derived() { }
	[MethodImpl(Apart)] public Derived(int n) { kept = Shapes.Work(n); }
	[MethodImpl(Apart)] public override int Virtual(int n) => base.Virtual(n) + 1;
	[MethodImpl(Apart)] int IShape.Do(int n) => Shapes.Work(n) + 1;
	[MethodImpl(Apart)] public int Of<T>(T x) => Shapes.Work(x.GetType().Name.Length) + 1;
	[MethodImpl(Apart)] public static int Made(int n) => Shapes.Work(n) + 1;
	[MethodImpl(Apart)] public void Dispose() { kept = Shapes.Work(3); }
	[MethodImpl(Apart)] public int CompareTo(Derived o) => Shapes.Work(3) == 7 ? 1 : 0;
	public int Property { [MethodImpl(Apart)] get => Shapes.Work(kept) + 1; [MethodImpl(Apart)] set { kept = Shapes.Work(value); } }
	public int this[int n] { [MethodImpl(Apart)] get => Shapes.Work(n) + 1; }
	[MethodImpl(Apart)] public static int operator +(Derived a, int n) => Shapes.Work(n) + 1;
	[MethodImpl(Apart)] public static implicit operator int(Derived a) => Shapes.Work(a.kept) + 1;
	public event Func<int, int> Event;
	[MethodImpl(Apart)] public int Raise(int n) => Event(n) + 1;
}

record Point(int X) { public int Twice { [MethodImpl(MethodImplOptions.NoInlining)] get => Shapes.Work(X) + 1; } }

struct Box<T> : IShape
{
	const MethodImplOptions Apart = MethodImplOptions.NoInlining;
	public T value;
	[MethodImpl(Apart)] public int Do(int n) => Shapes.Work(n) + value.ToString().Length;
	[MethodImpl(Apart)] public int Hold<U>(U u) => Shapes.Work(u.GetType().Name.Length) + 1;
	public class Inner<V>
	{
		[MethodImpl(Apart)] public int Deep(V v) => Shapes.Work(typeof(V).Name.Length) + 1;
	}
}

ref struct Spanned
{
	public Span<int> span;
	[MethodImpl(MethodImplOptions.NoInlining)] public int Sum(int n) => Shapes.Work(n) + span[0];
}

class Items
{
	const MethodImplOptions Apart = MethodImplOptions.NoInlining;
	int left = 1;
	public Items GetEnumerator() => new Items();
	public int Current { [MethodImpl(Apart)] get => Shapes.Work(left) + 1; }
	public bool MoveNext() => left-- > 0;
}

class ByWork : IComparer<int>
{
	[MethodImpl(MethodImplOptions.NoInlining)] public int Compare(int a, int b) => Shapes.Work(a) == 7 ? 1 : 0;
}

struct Big { public long a, b, c, d, e, f, g, h, i, j, k, l; }

static class Extension
{
	[MethodImpl(MethodImplOptions.NoInlining)] public static int Extended(this string s, int n) => Shapes.Work(n + s.Length) + 1;
}

static class Shapes
{
	const MethodImplOptions Apart = MethodImplOptions.NoInlining;
	static bool say;
	static string now;
	const int count = 80000;
	static long sink;
	static readonly HashSet<string> said = new();
	static readonly Dictionary<string, int> forms = new();

	[MethodImpl(Apart)]
	public static int Work(int n)
	{
		if (say)
			Say();
		int sum = n;
		for (int i = 0; i < count; i++)
			sum = sum * 3 + i & 0xffff;
		return sum;
	}

	[MethodImpl(Apart)]
	public static string Trace(string begin)
	{
		var text = new StringBuilder();
		foreach (var frame in new StackTrace(2, true).GetFrames()) {
			var method = frame.GetMethod();
			string name = (method.DeclaringType == null ? "" : method.DeclaringType.FullName + ":") + method.Name;
			if (name.StartsWith(begin) && (method.Attributes & MethodAttributes.PinvokeImpl) == 0)
				text.Append(name.Contains('[') ? System.Text.RegularExpressions.Regex.Replace(name, @"\[\[.*\]\]", "") : name)
					.Append('\t').Append(frame.GetFileName() ?? "").Append('\t').Append(frame.GetFileLineNumber()).Append('\n');
		}
		return text.ToString();
	}

	[MethodImpl(Apart)]
	static void Say()
	{
		string text = Trace("Known.");
		say = false;
		lock (said) {
			if (!said.Add(now + text))
				return;
			forms[now] = forms.GetValueOrDefault(now) + 1;
			Console.Write("scene " + now + "_" + forms[now] + "\n" + text + "\n");
			Console.Out.Flush();
		}
	}

	[MethodImpl(Apart)] static int In8(int n) => Work(n) + 1;
	[MethodImpl(Apart)] static int In7(int n) => In8(n) + 1;
	[MethodImpl(Apart)] static int In6(int n) => In7(n) + 1;
	[MethodImpl(Apart)] static int In5(int n) => In6(n) + 1;
	[MethodImpl(Apart)] static int Down(int n) => n == 0 ? Work(3) : Down(n - 1) + 1;
	[MethodImpl(Apart)] static int Even(int n) => n == 0 ? Work(3) : Odd(n - 1) + 1;
	[MethodImpl(Apart)] static int Odd(int n) => Even(n - 1) + 1;
	[MethodImpl(Apart)] static int Many(int a, int b, int c, int d, int e, int f, int g, int h, long i, double j) => Work(a + h) + (int)i;
	[MethodImpl(Apart)] static int Large(Big a, Big b) { Big c = a; c.l = Work((int)b.a); return (int)(c.l + c.a); }

	[MethodImpl(Apart)]
	static int Stack(int n)
	{
		Span<byte> bytes = stackalloc byte[n];
		bytes[n / 2] = 1;
		return Work(bytes[n / 2]) + bytes[0];
	}

	[MethodImpl(Apart)]
	static unsafe int Probed()
	{
		long *words = stackalloc long[20000];
		words[19999] = Work(3);
		return (int)words[19999];
	}

	[DllImport("libc")]
	static extern unsafe void qsort(void *at, nuint n, nuint size, void *compare);
	[DllImport("libc", EntryPoint = "qsort")]
	static extern unsafe void qsort_of(void *at, nuint n, nuint size, Compare compare);

	[MethodImpl(Apart)] static int CompareManaged(IntPtr a, IntPtr b) => Work(3) == 7 ? 1 : 0;
	[UnmanagedCallersOnly(CallConvs = new[] { typeof(System.Runtime.CompilerServices.CallConvCdecl) })]
	static unsafe int CompareOnly(void *a, void *b) => Work(3) == 7 ? 1 : 0;
	static readonly Compare compare = CompareManaged;

	static IEnumerable<int> Count(int n)
	{
		for (int i = 0; i < n; i++) {
			Work(i);
			yield return i;
		}
	}

	static async Task<int> Awaits(int n)
	{
		await Task.Yield();
		Work(n);
		return n;
	}

	static async ValueTask<int> Values(int n)
	{
		Work(n);
		await default(ValueTask);
		return n;
	}

	static async Task<int> Outer(int n)
	{
		int m = await Values(n) + 1;
		return m;
	}

	static async IAsyncEnumerable<int> Stream(int n)
	{
		for (int i = 0; i < n; i++) {
			Work(i);
			yield return i;
			await Task.CompletedTask;
		}
	}

	static async Task Drain()
	{
		await foreach (int i in Stream(1))
			sink += i;
	}

	[MethodImpl(Apart)]
	static int Throws(int n)
	{
		throw new InvalidOperationException();
	}

	[MethodImpl(Apart)]
	static void Catches()
	{
		try {
			Throws(1);
		} catch (InvalidOperationException) {
			Work(2);
		}
	}

	[MethodImpl(Apart)]
	static void Filters()
	{
		try {
			Throws(1);
		} catch (InvalidOperationException) when (Work(1) != 7) {
			sink++;
		}
	}

	[MethodImpl(Apart)]
	static void Finally()
	{
		try {
			Throws(1);
		} finally {
			Work(3);
		}
	}

	[MethodImpl(Apart)]
	static void FinallyOut()
	{
		try {
			Finally();
		} catch (InvalidOperationException) {
			sink++;
		}
	}

	[MethodImpl(Apart)]
	static void Normal()
	{
		try {
			sink++;
		} finally {
			Work(3);
		}
	}

	[MethodImpl(Apart)]
	static void InTry()
	{
		try {
			Work(3);
		} catch (InvalidOperationException) {
			sink++;
		} finally {
			sink++;
		}
	}

	[MethodImpl(Apart)]
	static void Rethrows()
	{
		try {
			try {
				Throws(1);
			} catch (InvalidOperationException) {
				throw;
			}
		} catch (InvalidOperationException) {
			Work(4);
		}
	}

	[MethodImpl(Apart)]
	static void Usings()
	{
		using (new Derived())
			sink++;
	}

	[MethodImpl(Apart)]
	static void Locks()
	{
		lock (said)
			sink += Work(1);
	}

	[MethodImpl(Apart)]
	static int Long(int n)
	{
		int sum = 0;
		for (int i = 0; i < n; i++) {
			sum += i;
			if (i % 1000 == 999)
				sum += Work(i);
		}
		return sum;
	}

	[MethodImpl(Apart)]
	static int Switches(object o)
	{
		switch (o) {
		case int n when n > 3:
			return 1;
		case string s:
			return
				Work(s.Length) +
				1;
		default:
			return 0;
		}
	}

	[MethodImpl(Apart)] static int Generic<T>(T x) => Work(x.GetHashCode()) + 1;
	[MethodImpl(Apart)] static int Static<T>() where T : IStatic<T> => T.Made(3) + 1;

	static Func<int, int> MakeDynamic()
	{
		var made = new DynamicMethod("Known.Dynamic", typeof(int), new[] { typeof(int) }, typeof(Shapes).Module);
		var il = made.GetILGenerator();
		il.Emit(OpCodes.Ldarg_0);
		il.Emit(OpCodes.Call, typeof(Shapes).GetMethod("Work"));
		il.Emit(OpCodes.Ldc_I4_1);
		il.Emit(OpCodes.Add);
		il.Emit(OpCodes.Ret);
		return made.CreateDelegate<Func<int, int>>();
	}

	static void Joined(ThreadStart start)
	{
		var t = new Thread(start);
		t.Start();
		t.Join();
	}

	[MethodImpl(Apart)] static void InThread() { for (int i = 0; i < 10; i++) sink += In7(3); }

	static readonly Func<int, int> dynamic = MakeDynamic();
	static readonly MethodInfo reflected = typeof(Shapes).GetMethod("In7", BindingFlags.Static | BindingFlags.NonPublic);
	static readonly object[] three = { 3 };
	static readonly int[] numbers = { 1, 2 };
	static readonly List<int> list = new() { 1, 2 };
	static readonly Derived derived = new();
	static readonly IShape shape = new Derived();
	static readonly IShape boxed = new Box<int>();
	static readonly IGenericVirtual generic = new Derived();
	static readonly Func<int, int> bound = "abc".Extended;
	static readonly Func<int, int> multicast = new Func<int, int>(In7) + In7;
	static readonly unsafe delegate*<int, int> pointer = &In7;
	static readonly ParameterExpression number = Expression.Parameter(typeof(int));
	static readonly Func<int, int> compiled = Expression.Lambda<Func<int, int>>(Expression.Add(Expression.Call(
		typeof(Shapes).GetMethod("Work"), number), Expression.Constant(1)), "Known.Compiled", new[] { number }).Compile();

	[MethodImpl(Apart)] static void Plain() { sink += Work(1); }
	[MethodImpl(Apart)] static void Chain() { sink += In5(1); }
	[MethodImpl(Apart)] static void Recursion() { sink += Down(20); }
	[MethodImpl(Apart)] static void Mutual() { sink += Even(20); }
	[MethodImpl(Apart)] static void Parameters() { sink += Many(1, 2, 3, 4, 5, 6, 7, 8, 9, 10); }
	[MethodImpl(Apart)] static void Structs() { sink += Large(default, default); }
	[MethodImpl(Apart)] static void Lambda() { list.ForEach([MethodImpl(Apart)] (n) => sink += Work(n)); }
	[MethodImpl(Apart)] static void Closure() { int m = numbers.Length; list.ForEach([MethodImpl(Apart)] (n) => sink += Work(n + m)); }
	[MethodImpl(Apart)]
	static void Nested()
	{
		list.ForEach([MethodImpl(Apart)] (n) => list.ForEach([MethodImpl(Apart)] (k) => {
			sink += Work(k + n);
		}));
	}
	[MethodImpl(Apart)] static void Local() { [MethodImpl(Apart)] static int Inner(int n) => Work(n) + 1; sink += Inner(2); }
	[MethodImpl(Apart)] static void Captures() { int m = 3; [MethodImpl(Apart)] int Inner(int n) => Work(n + m) + 1; sink += Inner(2); }
	[MethodImpl(Apart)] static void GenericValue() { sink += Generic(3); }
	[MethodImpl(Apart)] static void GenericShared() { sink += Generic("a"); }
	[MethodImpl(Apart)] static void GenericType() { sink += new Box<long>().Hold("a"); }
	[MethodImpl(Apart)] static void GenericInner() { sink += new Box<string>.Inner<byte>().Deep(3); }
	[MethodImpl(Apart)] static void GenericVirtual() { sink += generic.Of("a"); }
	[MethodImpl(Apart)] static void StaticAbstract() { sink += Static<Derived>(); }
	[MethodImpl(Apart)] static void Virtual() { sink += derived.Virtual(3); }
	[MethodImpl(Apart)] static void Interface() { sink += shape.Do(3); }
	[MethodImpl(Apart)] static void Unboxing() { sink += boxed.Do(3); }
	[MethodImpl(Apart)] static void Default() { sink += ((IDefault)derived).Has(3); }
	[MethodImpl(Apart)] static void Constructor() { sink += new Derived(3).GetType().Name.Length; }
	[MethodImpl(Apart)] static void Getter() { sink += derived.Property; }
	[MethodImpl(Apart)] static void Setter() { derived.Property = 3; }
	[MethodImpl(Apart)] static void Indexer() { sink += derived[3]; }
	[MethodImpl(Apart)] static void Operator() { sink += derived + 3; }
	[MethodImpl(Apart)] static void Conversion() { int n = derived; sink += n; }
	[MethodImpl(Apart)] static void Event() { var d = new Derived(); d.Event += In7; sink += d.Raise(3); }
	[MethodImpl(Apart)] static void Record() { sink += new Point(3).Twice; }
	[MethodImpl(Apart)] static void RefStruct() { int n = 3; sink += new Spanned { span = new Span<int>(ref n) }.Sum(3); }
	[MethodImpl(Apart)] static void Multicast() { sink += multicast(3); }
	[MethodImpl(Apart)] static void Bound() { sink += bound(3); }
	[MethodImpl(Apart)] static unsafe void Pointer() { sink += pointer(3); }
	[MethodImpl(Apart)] static void Iterator() { foreach (int i in Count(1)) sink += i; }
	[MethodImpl(Apart)] static void Enumerator() { foreach (int i in new Items()) sink += i; }
	[MethodImpl(Apart)] static void Where() { sink += numbers.Where([MethodImpl(Apart)] (n) => Work(n) != 7).Count(); }
	[MethodImpl(Apart)] static void Aggregate() { sink += numbers.Aggregate(0, [MethodImpl(Apart)] (a, n) => Work(n) + a); }
	[MethodImpl(Apart)] static void Sorted() { Array.Sort(new[] { 3, 2, 1 }, new ByWork()); }
	[MethodImpl(Apart)] static void Compared() { new List<Derived> { new(), new() }.Sort(); }
	[MethodImpl(Apart)] static void Hashed() { sink += new Dictionary<Base, int>().ContainsKey(derived) ? 1 : new HashSet<Base> { derived }.Count; }
	[MethodImpl(Apart)] static void Interpolated() { sink += $"a{derived}b".Length; }
	[MethodImpl(Apart)] static void Regex() { sink += System.Text.RegularExpressions.Regex.Replace("aba", "b", [MethodImpl(Apart)] (m) => Work(m.Length) == 7 ? "c" : "d").Length; }
	[MethodImpl(Apart)] static void Lazily() { sink += new Lazy<int>([MethodImpl(Apart)] () => Work(3) + 1).Value; }
	[MethodImpl(Apart)] static void StackAlloc() { sink += Stack(100 + (int)(sink & 255)); }
	[MethodImpl(Apart)] static void Probes() { sink += Probed(); }
	[MethodImpl(Apart)] static unsafe void Callback() { long *p = stackalloc long[] { 3, 1 }; qsort_of(p, 2, 8, compare); }
	[MethodImpl(Apart)] static unsafe void CallbackOnly() { long *p = stackalloc long[] { 3, 1 }; delegate* unmanaged[Cdecl]<void*, void*, int> f = &CompareOnly; qsort(p, 2, 8, f); }
	[MethodImpl(Apart)] static void Reflected() { sink += (int)reflected.Invoke(null, three); }
	[MethodImpl(Apart)] static void Activated() { sink += Activator.CreateInstance(typeof(Derived), 3).GetType().Name.Length; }
	[MethodImpl(Apart)] static void Dynamic() { sink += dynamic(3); }
	[MethodImpl(Apart)] static void Compiled() { sink += compiled(3); }
	[MethodImpl(Apart)] static void Threads() { Joined(InThread); }
	[MethodImpl(Apart)] static void Pool() { Task.Run([MethodImpl(Apart)] () => { sink += Work(3); }).Wait(); }
	[MethodImpl(Apart)] static void Async() { Awaits(3).Wait(); }
	[MethodImpl(Apart)] static void AsyncChain() { Outer(3).Wait(); }
	[MethodImpl(Apart)] static void AsyncLambda() { Func<Task> f = async () => { await Task.Yield(); Work(3); }; f().Wait(); }
	[MethodImpl(Apart)] static void AsyncStream() { Drain().Wait(); }
	[MethodImpl(Apart)] static void Switch() { sink += Switches("abc"); }
	[MethodImpl(Apart)] static void Osr() { sink += Long(200000); }

	static readonly Action[] all = {
		Plain, Chain, Recursion, Mutual, Parameters, Structs, Lambda, Closure, Nested, Local, Captures, GenericValue,
		GenericShared, GenericType, GenericInner, GenericVirtual, StaticAbstract, Virtual, Interface, Unboxing, Default,
		Constructor, Getter, Setter, Indexer, Operator, Conversion, Event, Record, RefStruct, Multicast, Bound, Pointer,
		Iterator, Enumerator, Where, Aggregate, Sorted, Compared, Hashed, Interpolated, Regex, Lazily, StackAlloc, Probes,
		Callback, CallbackOnly, Reflected, Activated, Dynamic, Compiled, Threads, Pool, Async, AsyncChain, AsyncLambda,
		AsyncStream, Catches, Filters, FinallyOut, Normal, InTry, Rethrows, Usings, Locks, Switch, Osr,
	};

	[MethodImpl(Apart)]
	static void Turn(Action one, double milliseconds)
	{
		var clock = Stopwatch.StartNew();
		now = one.Method.Name;
		say = true;
		do
			one();
		while (clock.Elapsed.TotalMilliseconds < milliseconds);
	}

	[MethodImpl(Apart)]
	public static void Run(double seconds)
	{
		var clock = Stopwatch.StartNew();
		for (int pass = 0; pass < 4 || clock.Elapsed.TotalSeconds < seconds; pass++) {
			if (pass == 3) {
				Console.WriteLine("ready " + Environment.ProcessId);
				Console.Out.Flush();
			}
			foreach (Action one in all)
				Turn(one, pass < 3 ? 8 : 25);
		}
	}
}

class Broken : IEnumerable<string>, IEnumerator<string>
{
	public IEnumerator<string> GetEnumerator() => this;
	System.Collections.IEnumerator System.Collections.IEnumerable.GetEnumerator() => this;
	public string Current => "a";
	object System.Collections.IEnumerator.Current => "a";
	public bool MoveNext() => throw new InvalidOperationException();
	public void Reset() { }
	[MethodImpl(MethodImplOptions.NoInlining)] public void Dispose() => Framework.Work();
}

// A call takes 150 ms of CPU time, so none is called 30 times and then compiled again.
static class Framework
{
	const MethodImplOptions Apart = MethodImplOptions.NoInlining;
	static readonly HashSet<string> said = new();
	static string now;
	static int sink;

	[MethodImpl(Apart | MethodImplOptions.AggressiveOptimization)]
	public static bool Work()
	{
		if (said.Add(now)) {
			Console.Write("scene " + now + "\n" + Shapes.Trace("") + "\n");
			Console.Out.Flush();
		}
		long begin = Spin.Cpu();
		while (Spin.Cpu() - begin < 150000000)
			for (int i = 0; i < 1000000; i++)
				sink = sink * 3 + i & 0xffff;
		return true;
	}

	[MethodImpl(Apart)] static void InType() { new List<string> { "a" }.ForEach([MethodImpl(Apart)] (s) => Work()); }
	[MethodImpl(Apart)] static void InMethod() { Array.ForEach(new[] { "a" }, [MethodImpl(Apart)] (s) => Work()); }
	[MethodImpl(Apart)] static void InBoth() { new List<string> { "a" }.ConvertAll([MethodImpl(Apart)] (s) => Work() ? "b" : s); }
	[MethodImpl(Apart)] static void InLinq() { new[] { "a" }.Count([MethodImpl(Apart)] (s) => Work()); }
	[MethodImpl(Apart)] static void InFinally() { try { string.Join(",", new Broken()); } catch (InvalidOperationException) { } }
	[MethodImpl(Apart)] static void InGenericFinally() { try { new Broken().Aggregate((a, b) => a); } catch (InvalidOperationException) { } }

	[MethodImpl(Apart)]
	public static void Run(double seconds)
	{
		var clock = Stopwatch.StartNew();
		bool ready = false;
		do {
			foreach (Action one in new Action[] { InType, InMethod, InBoth, InLinq, InFinally, InGenericFinally }) {
				now = one.Method.Name;
				one();
			}
			if (!ready)
				Console.WriteLine("ready " + Environment.ProcessId);
			Console.Out.Flush();
			ready = true;
		} while (clock.Elapsed.TotalSeconds < seconds);
	}
}
