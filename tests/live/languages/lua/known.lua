-- SPDX-License-Identifier: Apache-2.0
--
-- Programs whose stacks are known. For LuaJIT.
--
--   known.lua spin      a chain of 24 functions f24..f1, then leaf_50, leaf_30 or leaf_20, which use
--                       50, 30 and 20 per cent of the CPU time.
--   known.lua shapes    every shape of code in turn. A shape's stack is said first, as
--                       debug.getinfo() tells it: "scene NAME", a line a frame (leaf first:
--                       function, file, line, separated by tabs), an empty line.
--   known.lua calls     the chain, then leaf_calls, which calls tick all the time, and
--                       leaf_callbacks, whose functions C code calls.
--
-- After "ready PID" the work begins, until the program is killed.

local ffi = require("ffi")
ffi.cdef[[
int getpid(void);
void qsort(void *base, size_t count, size_t size, int (*compare)(const int *, const int *));
typedef struct { int x; } point;
]]

-- ---- shares ----

-- A length that changes cannot keep step with the sampling clock.
local number, length = 1, 0

local function turn()
	number = (number * 1103 + 12345) % 65536
	length = 200000 + number * 3
end

function leaf_50()
	local n, x = length, 7
	while n > 0 do
		x = (x * 3 + n) % 65536
		n = n - 1
	end
	return x
end

function leaf_30()
	local n, x = length, 7
	while n > 0 do
		x = (x * 3 + n) % 65536
		n = n - 1
	end
	return x
end

function leaf_20()
	local n, x = length, 7
	while n > 0 do
		x = (x * 3 + n) % 65536
		n = n - 1
	end
	return x
end

function tick(n) return n end

function leaf_calls()
	local n = 20000
	while n > 0 do
		n = tick(n) - 1
	end
	return n
end

function leaf_callbacks()
	local numbers = {}
	for i = 1, 50 do numbers[i] = (i * 7) % 50 end
	for i = 1, 20 do
		table.sort(numbers, function(a, b) return tick(a) < tick(b) end)
		string.gsub("some words and others", "%w+", function(w) return tick(w) end)
	end
	return numbers
end

function f1(leaf)
	local r
	if leaf == 50 then
		r = leaf_50()
	elseif leaf == 30 then
		r = leaf_30()
	elseif leaf == 20 then
		r = leaf_20()
	elseif leaf == 1 then
		r = leaf_calls()
	elseif leaf == 2 then
		r = leaf_callbacks()
	else
		r = in_chain()
	end
	return r
end

for i = 2, 24 do
	local code = "function f%d(leaf)\n\tlocal r = f%d(leaf)\n\treturn r\nend"
	assert(loadstring(string.format(code, i, i - 1), "@known.lua"))()
end

function spin()
	local used = { [50] = 0, [30] = 0, [20] = 0 }
	while true do
		turn()
		local part = 50 -- the one that is furthest below its share
		if used[30] / 30 < used[part] / part then part = 30 end
		if used[20] / 20 < used[part] / part then part = 20 end
		local before = os.clock()
		f24(part)
		used[part] = used[part] + os.clock() - before
	end
end

function calls()
	while true do
		f24(1)
		f24(2)
	end
end

-- ---- shapes ----

local say, count = false, 100000
local outside = "" -- what resumed the coroutine that runs

-- The stack from @level on: of this coroutine, and of what resumed it.
local function frames(level)
	local text = ""
	while true do
		local f = debug.getinfo(level, "nSl")
		if not f then return text .. outside end
		local name = f.name or "[C]"
		if f.what == "main" then
			name = "main chunk"
		elseif f.what ~= "C" and not f.name then
			name = string.format("function <%s:%d>", f.short_src, f.linedefined)
		end
		text = text .. string.format("%s\t%s\t%d\n", name, f.what == "C" and "" or f.short_src,
		                             math.max(f.currentline, 0))
		level = level + 1
	end
end

-- Called on the line that resumes a coroutine: by the function called @name.
local function resumes(name)
	if say then outside = name .. "\t\t0\n" .. frames(3) end
end

-- The leaf of every shape.
function work()
	if say then
		io.write(frames(2), "\n")
		say, outside = false, ""
	end
	local n, x = count, 7
	while n > 0 do
		x = (x * 3 + n) % 65536
		n = n - 1
	end
	return x
end

function in_chain() local r = work() return r end

function recurse(n)
	if n > 0 then
		local r = recurse(n - 1)
		return r
	end
	local r = work()
	return r
end

function even(n) local r = n > 0 and odd(n - 1) or work() return r end
function odd(n) local r = n > 0 and even(n - 1) or work() return r end

local function work_and(value) work() return value end
local function closure_of(n) return function() n = n + work() return n end end
local closure = closure_of(1)
local object = { method = function(self) local r = work() return r end }
local child = setmetatable({}, { __index = object })
local deep = { a = { b = { c = function() local r = work() return r end } } }
local function varargs(...) local r = work() return r, ... end
local function counts(...) local r = select("#", ...) work() return r end
local function results() local r = work() return r, 1, 2 end
local meta = {}
for _, name in ipairs { "add", "sub", "mul", "div", "mod", "pow", "unm", "concat", "eq", "lt", "le",
                        "index", "newindex", "call", "tostring" } do
	meta["__" .. name] = loadstring(
		"return function(...) local r = work() return '" .. name .. "' end", "@known.lua")()
end
local a, b = setmetatable({}, meta), setmetatable({}, meta)
local function iterator() work() return nil end
local co_yields = function(x) coroutine.yield(1) local r = work() return r end
local compare = ffi.cast("int (*)(const int *, const int *)", function(p, q) work() return p[0] - q[0] end)
local array = ffi.new("int[2]", 2, 1)
local point = ffi.metatype("point", {
	__add = function(p, q) local r = work() return p end,
	__index = { method = function(p) local r = work() return r end },
})
local p = point(1)
local file = os.tmpname()
local stripped = loadstring(string.dump(function() local r = work() return r end, true))

shapes_of = {
	plain = function() work() end,
	chain = function() f24(0) end,
	recursion = function() recurse(100) end,
	mutual = function() even(6) end,
	tail_call = function() return work() end,
	tail_chain = function() local r = (function() return in_chain() end)() return r end,
	global = function() in_chain() end,
	local_function = function() local f = in_chain f() end,
	upvalue = function() closure() end,
	field = function() object.method(object) end,
	field_deep = function() deep.a.b.c() end,
	method = function() object:method() end,
	method_inherited = function() child:method() end,
	anonymous = function() (function() work() end)() end,
	in_table = function() local t = { in_chain } t[1]() end,
	varargs = function() varargs(1, 2, 3) end,
	varargs_none = function() varargs() end,
	varargs_count = function() counts(1, nil) end,
	varargs_passed = function() local r = { varargs(unpack({ 1, 2, 3 })) } end,
	results = function() local t = { results() } end,
	argument = function() tostring(work()) end,
	pcall = function() pcall(in_chain) end,
	pcall_in_pcall = function() pcall(pcall, in_chain) end,
	pcall_failed = function() pcall(error, "x") work() end,
	pcall_error_in = function() pcall(function() pcall(error, "x") work() end) end,
	xpcall = function() xpcall(in_chain, print) end,
	xpcall_handler = function() xpcall(function() error("x") end, function() work() end) end,
	meta_add = function() local r = a + b end,
	meta_add_number = function() local r = a + 1 end,
	meta_sub = function() local r = a - b end,
	meta_mul = function() local r = 2 * b end,
	meta_div = function() local r = a / b end,
	meta_mod = function() local r = a % b end,
	meta_pow = function() local r = a ^ b end,
	meta_unm = function() local r = -a end,
	meta_concat = function() local r = a .. "x" end,
	meta_concat_three = function() local r = "x" .. "y" .. a end,
	meta_eq = function() local r = a == b end,
	meta_lt = function() local r = a < b end,
	meta_le = function() local r = a <= b end,
	meta_index = function() local r = a.name end,
	meta_index_number = function() local r = a[1] end,
	meta_newindex = function() a.name = 1 end,
	meta_call = function() a(1) end,
	meta_tostring = function() tostring(a) end,
	sort = function() table.sort({ 2, 1 }, function(x, y) work() return x < y end) end,
	sort_named = function() table.sort({ 2, 1 }, function(x, y) return x < work_and(y) end) end,
	sort_in_sort = function()
		table.sort({ 2, 1 }, function(x, y)
			table.sort({ 2, 1 }, function(z, w) work() return z < w end)
			return x < y
		end)
	end,
	sort_meta = function() table.sort({ a, b }) end,
	gsub = function() string.gsub("a", "a", function() work() end) end,
	gsub_method = function() ("a"):gsub("a", in_chain) end,
	gsub_table = function() ("a"):gsub("a", a) end,
	gsub_pcall = function() ("a"):gsub("a", function() pcall(in_chain) end) end,
	foreach = function() table.foreach({ 1 }, function() work() end) end,
	iterator = function() for i in iterator do local x = i end end,
	iterator_closure = function() for i in closure_of(1) do break end end,
	numeric_for = function() for i = 1, 1 do for j = 1, 1 do work() end end end,
	while_loop = function() while true do work() break end end,
	repeat_loop = function() repeat work() until true end,
	coroutine = function() local co = coroutine.create(in_chain)
		resumes("resume") coroutine.resume(co) end,
	coroutine_wrap = function() local f = coroutine.wrap(in_chain)
		resumes("f") f() end,
	coroutine_after_yield = function() local f = coroutine.wrap(co_yields)
		f()
		resumes("f") f() end,
	coroutine_recursion = function() local f = coroutine.wrap(function() recurse(10) end)
		resumes("f") f() end,
	coroutine_in_coroutine = function()
		local outer = coroutine.wrap(function()
			local inner = coroutine.wrap(in_chain)
			resumes("inner") inner()
		end)
		resumes("outer") outer()
	end,
	coroutine_pcall = function() local f = coroutine.wrap(function() pcall(in_chain) end)
		resumes("f") f() end,
	coroutine_in_sort = function()
		table.sort({ 2, 1 }, function(x, y)
			local f = coroutine.wrap(in_chain)
			resumes("f") f()
			return x < y
		end)
	end,
	coroutine_main_works = function() local f = coroutine.wrap(co_yields) f() work() end,
	loadstring = function() loadstring("work()", "@made.lua")() end,
	loadstring_named_by_text = function() loadstring("local x\nwork()")() end,
	file = function() loaded() end,
	load_reader = function() local done load(function() if done then return end done = true work() return "x=1" end) end,
	stripped = function() stripped() end,
	ffi_callback = function() ffi.C.qsort(array, 2, 4, compare) end,
	ffi_metatype = function() local r = p + p end,
	ffi_method = function() p:method() end,
	finalizer = function()
		local proxy = newproxy(true)
		getmetatable(proxy).__gc = function() work() end
		proxy = nil
		collectgarbage()
	end,
	hook = function()
		debug.sethook(function() debug.sethook() work() end, "", 1)
		local x = 1
	end,
	setfenv = function() setfenv(function() work() end, { work = work })() end,
	string_method = function() local r = ("x"):rep(work_and(2)) end,
	logic = function() local r = false or work() end,
	math = function() local r = math.floor(work_and(1.5)) end,
	goto_loop = function() do goto there end ::there:: work() end,
}

local function shape(name) local r = shapes_of[name]() return r end

function shapes()
	local f = io.open(file, "w")
	f:write("work()\n")
	f:close()
	loaded = loadfile(file)
	os.remove(file)
	local names = {}
	for name in pairs(shapes_of) do names[#names + 1] = name end
	table.sort(names)
	jit.off()
	local said = false
	while true do
		for _, name in ipairs(names) do
			if not said then
				io.write("scene ", name, "\n")
				say = true
			end
			shape(name)
		end
		if not said then
			if arg[2] ~= "off" then jit.on() end
			print("ready " .. ffi.C.getpid())
			said = true
		end
	end
end

io.stdout:setvbuf("no")
if arg[2] == "off" then jit.off() end
if arg[1] == "shapes" then
	shapes()
else
	print("ready " .. ffi.C.getpid())
	if arg[1] == "spin" then spin() else calls() end
end
