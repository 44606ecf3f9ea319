-- SPDX-License-Identifier: Apache-2.0
-- The pages of nginx's Lua module: /, /api. They say little, as LuaJIT's profiler charges the time of
-- functions in C to what runs after them. /judge begins to look with LuaJIT's own profiler, and says at
-- its second call which functions were innermost: a line each, "COUNT NAME".
local profile = require "jit.profile"
local web = {}
local seen

local words = {}
for i = 1, 400 do
	words[i] = "word" .. i * 7919 % 400
end

local function search(text)
	local found = 0
	for i = 1, #words do
		if string.find(words[i], text, 1, true) then
			found = found + i
		end
	end
	return found
end

local function order(rows)
	for i = 2, #rows do
		local row = rows[i]
		local j = i - 1
		while j > 0 and rows[j] > row do
			rows[j + 1] = rows[j]
			j = j - 1
		end
		rows[j + 1] = row
	end
	return rows
end

local function hash(text)
	local h = 5381
	for i = 1, #text do
		h = (h * 33 + text:byte(i)) % 4294967296
	end
	return h
end

local function render(rows)
	local out = {}
	for i = 1, #rows do
		out[#out + 1] = "<li>" .. rows[i] .. " " .. hash(rows[i]) .. "</li>"
	end
	return table.concat(out, "\n")
end

function web.page()
	local rows = {}
	for i = 1, 60 do
		rows[i] = words[(i * 31) % 400 + 1]
	end
	local found = 0
	for i = 1, 20 do
		found = found + search(tostring(i)) + #render(order(rows))
	end
	ngx.say(found)
end

function web.api()
	local sum = 0
	for i = 1, 400 do
		sum = sum + hash(words[i]) + search(words[i])
	end
	ngx.say('{"sum": ', sum, '}')
end

function web.judge()
	if not seen then
		seen = {}
		profile.start("fi2", function(thread, samples)
			local name = profile.dumpstack(thread, "f", 1)
			seen[name] = (seen[name] or 0) + samples
		end)
		ngx.say("looks")
		return
	end
	profile.stop()
	for name, samples in pairs(seen) do
		ngx.say(samples, " ", name)
	end
end

return web
