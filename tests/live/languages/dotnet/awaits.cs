// SPDX-License-Identifier: Apache-2.0
//
//   known awaits SECONDS   async methods that wait for each other. Work() uses the CPU in the
//                          innermost one, on a thread of the pool, so the others are not on its
//                          stack. What awaits it is said before: "scene NAME", a line a method
//                          (leaf first), an empty line. Each scene is written beside its methods.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;

namespace Known;

static class Awaits
{
	const MethodImplOptions Apart = MethodImplOptions.NoInlining;
	static volatile int sink;

	// First, whoever called the async method has time to await it.
	[MethodImpl(Apart)]
	static int Work(int n)
	{
		Thread.Sleep(1);
		long begin = Spin.Cpu();
		while (Spin.Cpu() - begin < 2000000)
			for (int i = 0; i < 10000; i++)
				n = n * 3 + i & 0xffff;
		return n;
	}

	static async Task<int> Inner()
	{
		await Task.Yield();
		return Work(1);
	}

	static async Task<int> Two() => await Inner() + 1;

	static async Task<int> Six5() => await Inner() + 1;
	static async Task<int> Six4() => await Six5() + 1;
	static async Task<int> Six3() => await Six4() + 1;
	static async Task<int> Six2() => await Six3() + 1;
	static async Task<int> Six() => await Six2() + 1;

	static async Task<int> Loop()
	{
		int sum = 0;
		for (int i = 0; i < 3; i++)
			sum += await Inner();
		return sum;
	}

	// The one that is resumed runs on the stack of the one that it awaited.
	static async Task<int> After()
	{
		await Inner2();
		return Work(2);
	}

	static async Task Inner2() => await Task.Yield();
	static async Task<int> AfterOuter() => await After() + 1;

	static async Task<int> All()
	{
		int[] both = await Task.WhenAll(Inner(), Inner());
		return both[0];
	}

	static async Task InnerVoid()
	{
		await Task.Yield();
		Work(1);
	}

	static async Task<int> AllVoid()
	{
		await Task.WhenAll(InnerVoid(), InnerVoid());
		return 1;
	}

	static async Task<int> Any()
	{
		Task<int> first = await Task.WhenAny(Inner(), new TaskCompletionSource<int>().Task);
		return await first;
	}

	static async Task<int> Configured2() => await Inner().ConfigureAwait(false) + 1;
	static async Task<int> Configured() => await Configured2().ConfigureAwait(false) + 1;

	static async ValueTask<int> Value3()
	{
		await Task.Yield();
		return Work(1);
	}

	static async ValueTask<int> Value2() => await Value3() + 1;
	static async Task<int> Value() => await Value2() + 1;

	static async Task<int> Throws()
	{
		await Task.Yield();
		throw new InvalidOperationException();
	}

	static async Task<int> Caught2()
	{
		try {
			return await Throws();
		} catch (InvalidOperationException) {
		}
		return Work(3);
	}

	static async Task<int> Caught() => await Caught2() + 1;

	static async Task<int> Handler2()
	{
		try {
			return await Throws();
		} catch (InvalidOperationException) {
			return Work(3);
		}
	}

	static async Task<int> Handler() => await Handler2() + 1;

	static async Task<int> Finally2()
	{
		try {
			return await Inner();
		} finally {
			sink++;
		}
	}

	static async Task<int> Finally() => await Finally2() + 1;

	static async Task<int> Recursion(int n)
	{
		await Task.Yield();
		return n == 0 ? Work(4) : await Recursion(n - 1) + 1;
	}

	static async Task<int> Recursive() => await Recursion(4) + 1;

	// While it works, what it has started waits for its turn.
	static async Task<int> Started(int n)
	{
		await Task.Yield();
		if (n == 0)
			return 1;
		Task<int> next = Held(n);
		int m = Work(5);
		gate.SetResult();
		return await next + m;
	}

	static TaskCompletionSource gate;

	static async Task<int> Held(int n)
	{
		gate = new TaskCompletionSource();
		await gate.Task;
		return n;
	}

	static async Task<int> Starts() => await Started(1) + 1;

	static async Task<int> Run() => await Task.Run(Inner) + 1;

	static async Task<int> Delayed()
	{
		await Task.Delay(1);
		return Work(6);
	}

	static async Task<int> Delay() => await Delayed() + 1;

	static async Task<int> Continued() => await Inner().ContinueWith(t => t.Result + 1) + 1;

	static async Task<int> Generic2<T>(T x)
	{
		await Task.Yield();
		return Work(x.GetHashCode());
	}

	static async Task<int> Generic<T>(T x) => await Generic2(x) + 1;
	static async Task<int> Shared() => await Generic("a") + 1;
	static async Task<int> Exact() => await Generic(3) + 1;

	static async Task<int> Lambda()
	{
		Func<Task<int>> f = async () => await Inner() + 1;
		return await f() + 1;
	}

	static async Task<int> Local()
	{
		static async Task<int> Within() => await Inner() + 1;
		return await Within() + 1;
	}

	static async Task<int> Shares()
	{
		Task<int> one = Inner();
		int[] both = await Task.WhenAll(Sharer(one), Sharer(one));
		return both[0];
	}

	static async Task<int> Sharer(Task<int> one) => await one + 1;

	// The part before the first await runs on the stack of the caller.
	[MethodImpl(Apart)]
	static async Task<int> First()
	{
		int n = Work(7);
		await Task.Yield();
		return n;
	}

	static async Task<int> Begun2()
	{
		await Task.Yield();
		return await First() + 1;
	}

	static async Task<int> Begun() => await Begun2() + 1;

	class Instance
	{
		int n = 1;
		async Task<int> Inner()
		{
			await Task.Yield();
			return Work(n);
		}
		public async Task<int> Outer() => await Inner() + n;
	}

	static async Task<int> Object() => await new Instance().Outer() + 1;

	static async Task<int> Timeout() => await Inner().WaitAsync(TimeSpan.FromSeconds(60)) + 1;

	// What stands in for a task.
	readonly struct Awaitable
	{
		readonly Task<int> task;
		public Awaitable(Task<int> of) { task = of; }
		public Awaiter GetAwaiter() => new(task.GetAwaiter());
	}

	readonly struct Awaiter : INotifyCompletion
	{
		readonly TaskAwaiter<int> of;
		public Awaiter(TaskAwaiter<int> awaiter) { of = awaiter; }
		public bool IsCompleted => of.IsCompleted;
		public int GetResult() => of.GetResult();
		public void OnCompleted(Action then) => of.UnsafeOnCompleted(then);
	}

	static async Task<int> Custom() => await new Awaitable(Inner()) + 1;

	// An iterator keeps what awaits it elsewhere, so the chain ends.
	static async IAsyncEnumerable<int> Items()
	{
		await Task.Yield();
		yield return Work(8);
	}

	static async Task<int> Iterated()
	{
		int sum = 0;
		await foreach (int n in Items())
			sum += n;
		return sum;
	}

	readonly record struct Scene(Func<Task<int>> Begin, params string[] Chain);

	static readonly Scene[] all = {
		new(Two, "Inner", "Two"),
		new(Six, "Inner", "Six5", "Six4", "Six3", "Six2", "Six"),
		new(Loop, "Inner", "Loop"),
		new(AfterOuter, "After", "AfterOuter"),
		new(All, "Inner", "All"),
		new(AllVoid, "InnerVoid", "AllVoid"),
		new(Any, "Inner", "Any"),
		new(Configured, "Inner", "Configured2", "Configured"),
		new(Value, "Value3", "Value2", "Value"),
		new(Caught, "Caught2", "Caught"),
		new(Handler, "Handler2", "Handler2", "Handler"),
		new(Finally, "Inner", "Finally2", "Finally"),
		new(Recursive, "Recursion", "Recursion", "Recursion", "Recursion", "Recursion", "Recursive"),
		new(Starts, "Started", "Starts"),
		new(Run, "Inner", "Run"),
		new(Delay, "Delayed", "Delay"),
		new(Continued, "Inner", "Continued"),
		new(Shared, "Generic2", "Generic", "Shared"),
		new(Exact, "Generic2", "Generic", "Exact"),
		new(Lambda, "Inner", "Lambda.<lambda>", "Lambda"),
		new(Local, "Inner", "Local.Within", "Local"),
		new(Shares, "Inner"), // several await it
		new(Begun, "First", "First", "Begun2", "Begun"),
		new(Object, "Instance.Inner", "Instance.Outer", "Object"),
		new(Timeout, "Inner", "Timeout"),
		new(Custom, "Inner", "Custom"),
		new(Iterated, "Items"),
	};

	public static void Go(double seconds)
	{
		foreach (Scene one in all) {
			Console.Write("scene " + one.Begin.Method.Name + "\nKnown.Awaits.Work\t\t0\n");
			foreach (string name in one.Chain)
				Console.Write("Known.Awaits." + name + "\t\t0\n");
			Console.Write("\n");
		}
		var clock = Stopwatch.StartNew();
		for (int pass = 0; pass < 4 || clock.Elapsed.TotalSeconds < seconds; pass++) {
			if (pass == 3) {
				Console.WriteLine("ready " + Environment.ProcessId);
				Console.Out.Flush();
			}
			foreach (Scene one in all) {
				var turn = Stopwatch.StartNew();
				do
					sink += one.Begin().GetAwaiter().GetResult();
				while (turn.Elapsed.TotalMilliseconds < (pass < 3 ? 40 : 25));
			}
		}
	}
}
