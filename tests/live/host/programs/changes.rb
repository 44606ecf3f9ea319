# SPDX-License-Identifier: Apache-2.0
# changes.rb SEED SECONDS FOLDER LOG [DEPTH] - makes, replaces and drops methods at random, and writes
# what ran when, like changes.py.

SEED, SECONDS = ARGV[0].to_i, ARGV[1].to_f
FOLDER, LOG = ARGV[2], ARGV[3]
DEPTH = ARGV[4].to_i
LONG = ENV["CHANGES_LONG"].to_i
DEPTH_MAX = 2
APART = 40
WARM = 100
OPTIONS = defined?(RubyVM::YJIT) && RubyVM::YJIT.enabled? ? ["--yjit"] : []
$log = File.open(LOG, "a")
$count = 0
srand(SEED)

def below(n) = rand(n)
def now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)

def piece_ns
  return 1_000_000 * (1100 + below(400)) if LONG > 0 && below(LONG) == 0
  1_000_000 * (below(8) > 0 ? 1 + below(20) : 20 + below(300))
end

def thread_id = File.readlink("/proc/thread-self").split("/").last

def burn(ns, inner)
  inner[0] = now
  over = inner[0] + ns
  x = 1
  while now < over
    i = 0
    while i < 200
      x = (x * 31 + i) & 65535
      i += 1
    end
  end
  inner[1] = now
  x
end

# rows: [name, file, first, last] of all that is on the stack
def run_made(object, name, rows, shape)
  inner = [0, 0]
  outer = now
  if shape.start_with?("warm")
    WARM.times { object.send(name, 0, inner) }
  end
  object.send(name, piece_ns, inner)
  over = now
  $log.syswrite(rows.map { |row|
    [thread_id, *row, outer, *inner, over, shape].join("\t") + "\n"
  }.join)
end

def shape(name) = below(2) == 0 ? name : "warm-" + name
def new_name = "made_#{Process.pid}_#{$count += 1}"

# [text of a method at some line, its first and last line]
def source(name, call = "burn")
  body = ["def #{name}(ns, inner)", "  x = 1"]
  below(APART - 8).times { body << "  x = x * #{3 + below(250)} + 7 & 65535" }
  body.push("  x += #{call}(ns, inner)", "  x", "end")
  first = 2 + APART * below(50)
  [body.join("\n"), first, first + body.size - 1]
end

# Defines it in a class, and gives its row.
def make(where, name, call = "burn")
  text, first, last = source(name, call)
  file = "made/#{below(4)}.rb"
  where.class_eval(text, file, first)
  [name, file, first, last]
end

def change_eval
  row = make(Object, new_name)
  kind = shape("eval")
  (1 + below(2)).times { run_made(self, row[0], [row], kind) }
  Object.send(:remove_method, row[0])
end

# One name; the older one is removed, or written over.
def change_same
  (2 + below(3)).times do
    row = make(Object, "made_same")
    run_made(self, "made_same", [row], shape("same"))
    Object.send(:remove_method, "made_same") if below(2) == 0
  end
end

def change_class
  made = Class.new
  row = make(made, "made_work")
  run_made(made.new, "made_work", [row], shape("class"))
end

def change_fiber
  row = make(Object, new_name)
  fiber = Fiber.new { run_made(self, row[0], [row], "fiber") }
  fiber.resume
  Object.send(:remove_method, row[0])
end

def change_nested
  call = "burn"
  rows = (2 + below(12)).times.map do
    row = make(Object, new_name, call)
    call = row[0]
    row
  end
  run_made(self, call, rows, shape("nested"))
  rows.each { |row| Object.send(:remove_method, row[0]) }
end

def give(path, text)
  how = below(3)
  File.delete(path) if how == 1 && File.exist?(path)
  File.write(how == 2 ? path + ".new" : path, text)
  File.rename(path + ".new", path) if how == 2
  %w[rewritten unlinked renamed][how]
end

# A file is written anew, and loaded again.
def change_loaded
  path = "#{FOLDER}/plugin_#{Process.pid}_#{below(2)}.rb"
  (1 + below(4)).times do
    name = below(2) == 0 ? "made_same" : new_name
    text, first, last = source(name)
    kind = give(path, "\n" * (first - 1) + text + "\n")
    load(path)
    run_made(self, name, [[name, path, first, last]], shape("load-" + kind))
    Object.send(:remove_method, name)
  end
end

def change_thread
  work = lambda do
    (1 + below(3)).times do
      row = make(Object, new_name)
      run_made(self, row[0], [row], "thread")
      Object.send(:remove_method, row[0])
    end
  end
  other = Thread.new(&work)
  work.call
  other.join
end

def change_forked
  Process.wait(fork do
    srand(SEED + Process.pid)
    (1 + below(3)).times { change(DEPTH_MAX) }
    exit!(0)
  end)
end

def change_executed
  seed = below(1 << 30).to_s
  Process.wait(fork do
    exec(RbConfig.ruby, *OPTIONS, __FILE__, seed, "0.3", FOLDER, LOG, (DEPTH + 1).to_s)
  end)
end

def change(depth)
  kinds = %w[eval eval same class fiber nested loaded loaded thread]
  kinds += %w[forked executed] if depth < DEPTH_MAX
  send("change_" + kinds[below(kinds.size)])
  # What is dropped or moved before it is read has no name.
  GC.start if below(6) == 0
  GC.compact if below(24) == 0
end

over = now + SECONDS * 1e9
change(DEPTH) while now < over
