-- SPDX-License-Identifier: Apache-2.0
local function fib(n) if n<2 then return n end return fib(n-1)+fib(n-2) end
local function arr() local t={} for i=1,20000 do t[i]=(i*7919)%1000 end table.sort(t) local s=0 for i=1,#t do s=s+t[i] end return s end
local function str() local t={} for i=1,2000 do t[#t+1]=("x"):rep(i%50)..tostring(i) end return #(table.concat(t):gsub("x","y")) end
local ffi=require'ffi'; ffi.cdef'void qsort(void*,size_t,size_t,int(*)(const int*,const int*)); double sin(double);'
local cb=ffi.cast('int(*)(const int*,const int*)',function(a,b) return a[0]-b[0] end)
local function num() local s=0 for i=1,2000000 do s=s+math.sin(i)*(i%3) end return s end
local function q() local a=ffi.new('int[2000]') for i=0,1999 do a[i]=(i*7919)%1000 end ffi.C.qsort(a,2000,4,cb) end
local co=coroutine.wrap(function() while true do for i=1,10000 do local x=i*2 end coroutine.yield(1) end end)
while true do fib(24) arr() str() num() q() for i=1,100 do co() end end
