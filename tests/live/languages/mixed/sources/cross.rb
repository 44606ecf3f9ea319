# SPDX-License-Identifier: Apache-2.0
# Ruby that calls C, through its extension fiddle, that calls Ruby.
require "fiddle"

def inner
  x = 0
  i = 0
  while (i += 1) < 5000
    x += i
  end
end

CALL_BACK = Fiddle::Function.new(Fiddle.dlopen(ARGV[0])["call_back"], [Fiddle::TYPE_VOIDP],
                                 Fiddle::TYPE_VOID)
INNER = Fiddle::Closure::BlockCaller.new(Fiddle::TYPE_VOID, []) { inner }

def outer
  CALL_BACK.call(INNER)
end

outer
puts "ready"
$stdout.flush
finish = Time.now + ARGV[1].to_f
outer while Time.now < finish
