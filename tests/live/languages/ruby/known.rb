# SPDX-License-Identifier: Apache-2.0
#
# Programs whose stacks are known. For Ruby 2.7 and later.
#
#   known.rb spin SECONDS    a chain of 24 methods f24..f1, then leaf_50, leaf_30 or leaf_20, which
#                            use 50, 30 and 20 per cent of the CPU time.
#   known.rb shapes SECONDS  every shape of code in turn. A shape's stack is said first, as Ruby's
#                            own backtrace tells it: "scene NAME", a line a frame (leaf first:
#                            label, file, line, separated by tabs), an empty line.
#   known.rb calls SECONDS   the chain, then leaf_calls, which calls tick all the time, and
#                            leaf_callbacks, whose blocks C code calls.
#   known.rb fibers SECONDS  the ways by which a fiber comes to run, in turn. Each ends in leaf_WAY,
#                            and all have the same CPU time.
#
# After "ready PID" the work begins.

def out(text)
	STDOUT.write(text)
	STDOUT.flush
end

def now
	Process.clock_gettime(Process::CLOCK_MONOTONIC)
end

def cpu
	Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
end

# ---- shares ----

# A length that changes cannot keep step with the sampling clock.
class Turn
	@number = 1
	@length = 0
	@unit = 60000
	class << self
		attr_reader :length

		def next
			@number = @number * 1103515245 + 12345 & 0x7fffffff
			@length = @unit + (@number >> 8) % @unit
		end

		# Compiled code is many times as fast: its turns are longer.
		def took(seconds)
			@unit = (@unit * 1.2).to_i if seconds < 0.001 && @unit < 100000000
		end
	end
end

def leaf_50
	n = x = Turn.length
	while n > 0
		x = x * 3 + n & 0xffff
		n -= 1
	end
	x
end

def leaf_30
	n = x = Turn.length
	while n > 0
		x = x * 3 + n & 0xffff
		n -= 1
	end
	x
end

def leaf_20
	n = x = Turn.length
	while n > 0
		x = x * 3 + n & 0xffff
		n -= 1
	end
	x
end

def tick(x)
	x
end

def leaf_calls
	n = 20000
	while n > 0
		n = tick(n) - 1
	end
	n
end

def add(x)
	x + 1
end

def leaf_callbacks
	numbers = (1..50).to_a
	n = 100
	while n > 0
		numbers = numbers.map { |x| add(x) }
		n -= 1
	end
	numbers
end

def f1(leaf) send(leaf) end
2.upto(24) do |i|
	eval("def f#{i}(leaf) f#{i - 1}(leaf) end", binding, __FILE__, 500 + i)
end

# The part of the CPU time that is furthest below its share.
def choose(used)
	best = 50
	used.each_pair do |part, time|
		best = part if time / part < used[best] / best
	end
	best
end

def spin(seconds)
	used = { 50 => 0.0, 30 => 0.0, 20 => 0.0 }
	stop = now + seconds
	while now < stop
		Turn.next
		part = choose(used)
		before = cpu
		f24(:"leaf_#{part}")
		time = cpu - before
		Turn.took(time)
		used[part] += time
	end
	all = used.values.sum
	used.each { |part, time| out(format("leaf_%d %.4f\n", part, time / all)) }
end

def calls(seconds)
	stop = now + seconds
	while now < stop
		f24(:leaf_calls)
		f24(:leaf_callbacks)
	end
end

# ---- shapes ----

$say = false
$count = 40000

def say
	line = 0 # work's own is that of its loop
	caller_locations(1).each do |l|
		out("#{l.label}\t#{l.path}\t#{line || l.lineno}\n")
		line = nil
	end
	out("\n")
end

# The leaf of every shape.
def work
	return say if $say
	x = 7
	n = $count
	while n > 0
		x = x * 3 + n & 0xffff
		n -= 1
	end
	x
end

eval("def in_chain() work end", binding, __FILE__, 600)

def recurse(n)
	if n > 0
		recurse(n - 1)
	else
		work
	end
end

def yields
	yield 1
end

def yields_yields
	yields { |x| yield x }
end

def optional(a, b = work, c = 3)
	b
end

def keywords(a:, b: work)
	b
end

def ensures
	yield
ensure
	work
end

class Made
	include Comparable
	attr_accessor :on

	def initialize(on = 0)
		@on = on
	end

	def method_of() work end
	def self.make() work end
	class << self
		def made() work end
	end
	def to_s
		work
		"made"
	end
	def +(other) work end
	def ==(other)
		work
		true
	end
	def ===(other)
		work
		true
	end
	def [](i) work end
	def []=(i, x)
		work
	end
	def -@() work end
	def coerce(other)
		work
		[1, 2]
	end
	def <=>(other)
		work
		on <=> other.on
	end
	def each
		yield work
	end
	include Enumerable
	def method_missing(name, *args)
		name == :unknown ? work : super
	end
	def respond_to_missing?(name, all = false)
		work if name == :asked
		name == :unknown
	end
	def hash
		work
		7
	end
	def call_it(x) work end
	alias aliased method_of
	alias_method :again, :aliased
	define_method(:defined) { |x| work }
	define_method(:taken, instance_method(:method_of))
	define_method(:with_block) { |&b| b.call(1) }
	def to_str
		work
		"made"
	end
	def to_proc
		proc { |x| work }
	end
end

class Child < Made
	def method_of() super end
end

module Before
	def method_of() super end
end

class Prepended < Made
	prepend Before
end

class Begun
	def initialize() work end
end

class Copied
	def initialize_copy(other) work end
end

module Refined
	refine Integer do
		def refined() work end
	end
end
using Refined

class Missing
	def self.const_missing(name) work end
end

module Hooks
	def self.included(base) work end
	def self.inherited(base) work end
end

class Parent
	def self.inherited(child) work end
end

Pair = Struct.new(:a, :b) do
	def total() work end
end

MADE = Made.new
PROC = proc { |x| work }
LAMBDA = lambda { |x| work }
NUMBERS = [1]

class Added
	def self.method_added(name) work end
end

# Calls behind more than 54 and than 566 instructions: each part of Ruby's index of lines.
eval("def longer\n" + "\tx = [1, 2]; x\n" * 40 + "\tx = work\nend", binding, __FILE__, 1000)
eval("def longest\n" + "\tx = [1, 2]; x\n" * 400 + "\tx = work\nend", binding, __FILE__, 2000)

def shape_plain() work end
def shape_chain() f24(:in_chain) end
def shape_recursion() recurse(100) end
def shape_block() yields { |x| work } end
def shape_block_in_block() yields { |x| yields { |y| work } } end
def shape_three_blocks() yields { |x| yields { |y| yields { |z| work } } } end
def shape_yield_through() yields_yields { |x| work } end
def shape_proc() PROC.call(1) end
def shape_lambda() LAMBDA.(1) end
def shape_own_lambda() ->(x) { work }.call(1) end
def shape_proc_yield() yields(&PROC) end
def shape_method_object() method(:work).call end
def shape_method_block() NUMBERS.each(&MADE.method(:call_it)) end
def shape_unbound() Made.instance_method(:method_of).bind(MADE).call end
def shape_symbol() [MADE].map(&:method_of) end
def shape_to_proc() NUMBERS.map(&MADE) end
def shape_curry() LAMBDA.curry[1] end
def shape_compose() (LAMBDA >> LAMBDA).call(1) end
def shape_define_method() MADE.defined(1) end
def shape_define_taken() MADE.taken end
def shape_define_block() MADE.with_block { |x| work } end
def shape_instance_eval() MADE.instance_eval { work } end
def shape_instance_exec() MADE.instance_exec(1) { |x| Object.instance_method(:work).bind(self).call } end
def shape_class_eval() Made.class_eval { Object.new.send(:work) } end
def shape_class_eval_text() Made.class_eval("Object.new.send(:work)", __FILE__, 700) end
def shape_eval() eval("work", binding, "made.rb", 12) end
def shape_eval_nameless() eval("1\nwork", nil, "(eval)", 1) end
def shape_eval_def() eval("def made_now() work end\nmade_now", binding, "made.rb", 40) end
def shape_singleton() Made.make end
def shape_singleton_class() Made.made end
def shape_own_singleton
	o = Object.new
	def o.mine() work end
	o.mine
end
def shape_refinement() 7.refined end
def shape_method_missing() MADE.unknown(1) end
def shape_respond_to() MADE.respond_to?(:asked) end
def shape_send() send(:work) end
def shape_dunder_send() MADE.__send__(:method_of) end
def shape_public_send() MADE.public_send(:method_of) end
def shape_alias() MADE.aliased end
def shape_alias_method() MADE.again end
def shape_super() Child.new.method_of end
def shape_prepend() Prepended.new.method_of end
def shape_initialize() Begun.new end
def shape_dup() Copied.new.dup end
def shape_struct() Pair.new(1, 2).total end
def shape_anonymous_class() Class.new { def hidden() work end }.new.hidden end
def shape_class_body
	Object.send(:remove_const, :Body) if defined?(Body)
	eval("class Body\n\tObject.new.send(:work)\nend", binding, "made.rb", 60)
end
def shape_inherited() Class.new(Parent) end
def shape_included() Class.new { include Hooks } end
def shape_method_added() Added.class_eval { def now() end } end
def shape_const_missing() Missing.const_get(:Nothing) end
def shape_array_each() NUMBERS.each { |x| work } end
def shape_array_map() NUMBERS.map { |x| work } end
def shape_map_in_map() NUMBERS.map { |x| NUMBERS.map { |y| work } } end
def shape_select() NUMBERS.select { |x| work } end
def shape_inject() [1, 2].inject { |a, b| work } end
def shape_sort() [1, 2].sort { |a, b| work; 0 } end
def shape_sort_compare() [MADE, Made.new(1)].sort end
def shape_sort_by() NUMBERS.sort_by { |x| work } end
def shape_max_by() NUMBERS.max_by { |x| work } end
def shape_hash_each() { 1 => 2 }.each { |k, v| work } end
def shape_hash_default() Hash.new { |h, k| work }[1] end
def shape_hash_key() { MADE => 1 } end
def shape_times() 1.times { work } end
def shape_upto() 1.upto(1) { |x| work } end
def shape_range() (1..1).each { |x| work } end
def shape_loop() loop { work; break } end
def shape_tap() MADE.tap { work } end
def shape_then() MADE.then { work } end
def shape_gsub() "abc".gsub(/b/) { |x| work; "c" } end
def shape_each_char() "a".each_char { |c| work } end
def shape_enumerable() MADE.map { |x| x } end
def shape_each_with_index() NUMBERS.each_with_index { |x, i| work } end
def shape_each_slice() NUMBERS.each_slice(1) { |x| work } end
def shape_lazy() NUMBERS.lazy.map { |x| work }.first(1) end
def shape_compare() MADE < Made.new(1) end
def shape_plus() MADE + 1 end
def shape_equal() MADE == 1 end
def shape_array_equal() [MADE] == [Made.new(1)] end
def shape_index() MADE[1] end
def shape_index_set() MADE[1] = 2 end
def shape_minus() -MADE end
def shape_coerce() 1 * MADE end
def shape_case
	case 1
	when MADE then 2
	end
end
def shape_to_s() "a#{MADE}" end
def shape_to_str() "a" + MADE end
def shape_puts() $null.print(MADE) end
def shape_format() format("%s", MADE) end
def shape_join() [MADE].join(",") end
def shape_optional() optional(1) end
def shape_keywords() keywords(a: 1) end
def shape_splat() optional(*[1, work]) end
def shape_longer() longer end
def shape_longest() longest end
def shape_ensure
	1
ensure
	work
end
def shape_ensure_throw
	catch(:done) { ensures { throw :done } }
end
def shape_ensure_break
	loop { ensures { break }; break }
end
def shape_rescue
	raise "x"
rescue
	work
end
def shape_rescue_in_block
	yields do |x|
		begin
			Integer("x")
		rescue ArgumentError
			work
		end
	end
end
def shape_retry
	tries = 0
	begin
		tries += 1
		raise "x" if tries < 2
		work
	rescue
		retry
	end
end
def shape_catch() catch(:it) { |tag| work; throw tag } end
def shape_return_from_block
	yields { |x| return work }
end
def shape_after_break
	[1, 2].each { |x| break }
	work
end
def shape_next() NUMBERS.each { |x| next work } end
def shape_condition_flip() NUMBERS.each { |x| work if (x == 1)..(x == 1) } end
def shape_object_space() ObjectSpace.each_object(Made) { |x| work; break } end
def shape_tracepoint
	TracePoint.new(:call) { |t| t.disable; work }.enable
	tick(1)
end
def shape_trap
	Signal.trap("USR2") { work }
	Process.kill("USR2", Process.pid)
	sleep 0.001
end
def shape_warn() Warning.warn("x\n") end
def shape_load() load($loaded) end
def shape_marshal() Marshal.load($marshalled, ->(x) { work; x }) end
def shape_binding() binding.instance_eval { work } end
def shape_binding_eval() binding.eval("work", __FILE__, 800) end
def shape_fiber() Fiber.new { work }.resume end
def shape_fiber_resumed
	fiber = Fiber.new { Fiber.yield; work }
	fiber.resume
	fiber.resume
end
def shape_fiber_in_fiber() Fiber.new { yields { |x| Fiber.new { work }.resume } }.resume end
def shape_fiber_in_map() NUMBERS.map { |x| Fiber.new { work }.resume } end
def shape_enumerator() Enumerator.new { |y| y << work }.next end
def shape_enumerator_each() Enumerator.new { |y| work; y << 1 }.each { |x| x } end
def shape_thread() Thread.new { work }.value end
def shape_thread_in_block() yields { |x| Thread.new(x) { |y| yields { |z| work } }.join } end
def shape_ractor() Ractor.new { work_of_ractor }.take end
# What moves has no name until it is read anew; so it is seldom.
def shape_gc_compact
	$compacted += 1
	GC.compact if GC.respond_to?(:compact) && $compacted % 32 == 1
	yields { |x| work }
end
def shape_mutex() MUTEX.synchronize { work } end
def shape_monitor() MONITOR.synchronize { work } end
def shape_set() SET.each { |x| work } end
def shape_refined_block() NUMBERS.each { |x| x.refined } end
def shape_ancestors() BasicChild.new.go end
def shape_made_and_dropped
	$n = $n.to_i + 1
	name = "dropped_#{$n % 7}"
	eval("def #{name}() yields { |x| work } end", binding, "made.rb", 900)
	send(name)
ensure
	Object.send(:remove_method, name) if Object.private_method_defined?(name)
end

MUTEX = Mutex.new
require "monitor"
require "set"
require "stringio"
require "tempfile"
MONITOR = Monitor.new
SET = Set.new([1])

class BasicChild < BasicObject
	def go() ::MADE.method_of end
end

module Warning
	def self.warn(text) work end
end

$null = StringIO.new
$compacted = 0
$marshalled = Marshal.dump(1)
file = Tempfile.new(["loaded", ".rb"])
file.write("work\n")
file.close
$loaded = file.path

# A shape whose stack changes from time to time, or that this version has not.
LEFT_OUT = %i[shape_ractor shape_made_and_dropped]

def shapes(seconds)
	names = Object.private_instance_methods(false).grep(/\Ashape_/) - LEFT_OUT
	said = false
	stop = now + seconds
	while !said || now < stop
		names.each do |name|
			out("scene #{name.to_s.delete_prefix('shape_')}\n") unless said
			$say = !said
			send(name)
		end
		out("ready #{Process.pid}\n") unless said
		said = true
	end
end

# ---- fibers that resume each other ----

def take_turn
	stop = cpu + 0.01
	n = 0
	while cpu < stop
		n += 1 while n % 500 != 499
		n += 1
	end
end

def leaf_one() take_turn end
def leaf_nested() take_turn end
def leaf_again() take_turn end
def leaf_each() take_turn end
def leaf_block() take_turn end

def by_one() Fiber.new { leaf_one }.resume end
def inner_nested() Fiber.new { leaf_nested }.resume end
def by_nested() Fiber.new { inner_nested }.resume end
def resume_again(fiber) fiber.resume end
def by_again
	fiber = Fiber.new { Fiber.yield; leaf_again }
	fiber.resume
	resume_again(fiber)
end
def by_each() Enumerator.new { |y| leaf_each; y << 1 }.next end
def by_block() NUMBERS.each { |x| Fiber.new { leaf_block }.resume } end

def fibers(seconds)
	stop = now + seconds
	while now < stop
		by_one
		by_nested
		by_again
		by_each
		by_block
	end
end

what = ARGV[0]
seconds = (ARGV[1] || 5).to_f
if what == "shapes"
	shapes(seconds)
else
	out("ready #{Process.pid}\n")
	send(what, seconds)
end
