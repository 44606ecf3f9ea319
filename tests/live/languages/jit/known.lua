-- SPDX-License-Identifier: Apache-2.0
-- Three loops, each in a trace of its own, that take 50, 30 and 20 % of the CPU time: each works
-- up to a point of that clock that was fixed beforehand. The judge reads the lines below.
local clock = os.clock

local function loop_a(till)
  local x = 1
  repeat
    for i = 1, 200000 do x = (x * 3 + i) % 65521 end
  until clock() >= till
  return x
end

local function loop_b(till)
  local x = 1
  repeat
    for i = 1, 200000 do x = (x * 5 + i) % 65521 end
  until clock() >= till
  return x
end

local function loop_c(till)
  local x = 1
  repeat
    for i = 1, 200000 do x = (x * 7 + i) % 65521 end
  until clock() >= till
  return x
end

print("ready")
io.stdout:flush()
local till = clock()
local last = till + tonumber(arg[1])
while till < last do
  till = till + 0.025
  loop_a(till)
  till = till + 0.015
  loop_b(till)
  till = till + 0.010
  loop_c(till)
end
