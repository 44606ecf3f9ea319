# SPDX-License-Identifier: Apache-2.0
def fib(n : Int32) : Int32
  n < 2 ? n : fib(n - 1) + fib(n - 2)
end

def counts(n)
  h = Hash(String, Int32).new(0)
  n.times { |i| h["k#{i % 997}"] += 1 }
  h.size
end

def raised(n)
  (0...n).sum { |i| (i % 3 == 0 ? "x" : i.to_s).to_i rescue 1 }
end

results = Channel(Int32).new
3.times do |k|
  spawn do
    loop do
      results.send(fib(22 + k))
      results.send(counts(10000) + Array.new(20000) { |i| i * 7919 % 10007 }.sort_by { |x| -x }[0])
      results.send(raised(1000) + ("xaaay" * 500).gsub(/a+/, "b").size)
    end
  end
end
loop { results.receive }
