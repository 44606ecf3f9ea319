// SPDX-License-Identifier: Apache-2.0
// An ASP.NET Core application under Kestrel: /, /api.
using System;
using System.Collections.Generic;
using System.Linq;
using System.Text;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Logging;

static class Web
{
	record Item(string Name, int Price);

	static readonly Item[] items = Enumerable.Range(1, 300)
		.Select(i => new Item("item " + i * 7919 % 300, i * 37 % 101)).ToArray();

	static List<Item> Find(string text) => items.Where(item => item.Name.Contains(text)).ToList();

	static int Total()
	{
		int sum = 0;
		for (int round = 0; round < 20; round++)
			foreach (Item item in items)
				sum += item.Price * 3 % 7 + item.Name.Length;
		return sum;
	}

	static string Page()
	{
		var text = new StringBuilder("<ul>");
		foreach (Item item in Find("1").OrderBy(item => item.Price).ThenBy(item => item.Name))
			text.Append("<li>").Append(item.Name).Append(' ').Append(item.Price).Append("</li>");
		return text.Append("</ul>").Append(Total()).ToString();
	}

	static string Api() => string.Join(",", Find("2").Select(item => item.Name + Total()));

	static void Main(string[] args)
	{
		var builder = WebApplication.CreateSlimBuilder(args);
		builder.Logging.ClearProviders();
		var app = builder.Build();
		app.MapGet("/", (HttpContext context) => context.Response.WriteAsync(Page()));
		app.MapGet("/api", (HttpContext context) => context.Response.WriteAsync(Api()));
		app.Run("http://127.0.0.1:" + args[0]);
	}
}
