# SPDX-License-Identifier: Apache-2.0
#
# Programs whose stacks are known. For Perl 5.28 and later.
#
#   known.pl spin SECONDS    a chain of 24 subs f24..f1, then leaf_50, leaf_30 or leaf_20, which use
#                            50, 30 and 20 per cent of the CPU time.
#   known.pl shapes SECONDS  every shape of code in turn. A shape's stack is said first, as Perl's
#                            own caller() tells it: "scene NAME", a line a frame (leaf first: sub,
#                            file, line, separated by tabs), an empty line.
#   known.pl calls SECONDS   the chain, then leaf_calls, which calls tick all the time, and
#                            leaf_callbacks, whose subs C code calls.
#
# After "ready PID" the work begins.

use strict;
use warnings;
use Config;
use List::Util ();
use POSIX ();
use Scalar::Util ();
use Time::HiRes ();
use if $Config{useithreads}, "threads";

$| = 1;
binmode STDOUT, ":utf8";

sub now { return Time::HiRes::clock_gettime(Time::HiRes::CLOCK_MONOTONIC()) }
sub cpu { return Time::HiRes::clock_gettime(Time::HiRes::CLOCK_PROCESS_CPUTIME_ID()) }

# ---- shares ----

# A length that changes cannot keep step with the sampling clock.
my $number = 1;
my $length = 0;

sub turn {
	$number = ($number * 1103515245 + 12345) & 0x7fffffff;
	$length = 60000 + ($number >> 8) % 60000;
}

for my $part (50, 30, 20) {
	eval "#line 100 \"known.pl\"\n" . <<"END" or die $@;
sub leaf_$part {
	my \$n = my \$x = \$length;
	while (\$n > 0) {
		\$x = (\$x * 3 + \$n) & 0xffff;
		\$n--;
	}
	return \$x;
}
1;
END
}

sub tick { return $_[0] }

sub leaf_calls {
	my $n = 20000;
	while ($n > 0) {
		$n = tick($n) - 1;
	}
	return $n;
}

sub add { return $_[0] + 1 }

sub leaf_callbacks {
	my @numbers = (1 .. 50);
	for (1 .. 100) {
		my @sorted = sort { add($a) <=> add($b) } @numbers;
		my $found = List::Util::first { add($_) > 100 } @numbers;
		my $sum = List::Util::reduce { add($a) } @numbers;
	}
	return @numbers;
}

sub f1 { my $leaf = shift; return $leaf->() }

for my $i (2 .. 24) {
	my $below = $i - 1;
	eval "#line @{[500 + $i]} \"known.pl\"\nsub f$i { return f$below(\$_[0]) } 1" or die $@;
}

# The part of the CPU time that is furthest below its share.
sub choose {
	my $used = shift;
	my $best = 50;
	for my $part (50, 30, 20) {
		$best = $part if $used->{$part} / $part < $used->{$best} / $best;
	}
	return $best;
}

sub spin {
	my $seconds = shift;
	my %used = (50 => 0, 30 => 0, 20 => 0);
	my $stop = now() + $seconds;
	while (now() < $stop) {
		turn();
		my $part = choose(\%used);
		my $leaf = main->can("leaf_$part");
		my $before = cpu();
		f24($leaf);
		$used{$part} += cpu() - $before;
	}
	my $all = List::Util::sum(values %used);
	printf "leaf_%d %.4f\n", $_, $used{$_} / $all for sort keys %used;
}

sub calls {
	my $seconds = shift;
	my $stop = now() + $seconds;
	while (now() < $stop) {
		f24(\&leaf_calls);
		f24(\&leaf_callbacks);
	}
}

# ---- shapes ----

no warnings qw(recursion redefine syntax);

our $say = 0;
our $in_thread = 0; # its stack does not begin with the main program
our $count = 20000;

sub say_it {
	my ($file, $line) = (__FILE__, 0); # work's own line is that of its loop
	for (my $i = 1; my @frame = (caller($i))[0 .. 2, 7]; $i++) {
		# a format has no name that can be copied
		my $name = eval { (caller($i + 1))[3] } // "(format)";
		$name = "(file)" if $frame[3];
		print STDOUT "$name\t$file\t$line\n";
		($file, $line) = @frame[1, 2];
	}
	print STDOUT "(main)\t$file\t$line\n" unless $in_thread;
	print STDOUT "\n";
}

# The leaf of every shape.
sub work {
	return say_it() if $say;
	my $x = 7;
	my $n = $count;
	while ($n > 0) {
		$x = ($x * 3 + $n) & 0xffff;
		$n--;
	}
	return $x;
}

sub in_chain { return work() }

sub recurse {
	my $n = shift;
	return $n > 0 ? recurse($n - 1) : work();
}

sub with_block(&) { my $block = shift; my $r = $block->(1); return $r }

sub loops {
	for my $i (1) {
		for my $j (1) {
			for (my $k = 0; $k < 1; $k++) {
				while (1) {
					{
						work();
					}
					last;
				}
			}
		}
	}
}

sub prototyped($$) { return work() }

our $place = 1;
sub lvalue :lvalue { work(); $place }

sub wants { return wantarray ? work() : 0 }

sub ampersand { return &work }

sub goes { goto &work }

sub by_name { no strict 'refs'; return &{"main::work"}() }

package Made;

sub new { my $class = shift; return bless {on => 1, @_}, $class }
sub method { return main::work() }
sub DESTROY { my $self = shift; main::work() if $self->{dies} }

package Child;
our @ISA = ('Made');
sub method { my $self = shift; my $r = $self->SUPER::method(); return $r }

package Auto;
our $AUTOLOAD;
sub new { return bless {}, shift }
sub AUTOLOAD { return if $AUTOLOAD =~ /DESTROY/; return main::work() }

package Over;
use overload
	'+' => sub { main::work() },
	'""' => sub { main::work(); "text" },
	'<=>' => \&compare,
	'bool' => sub { main::work(); 1 },
	'&{}' => sub { main::work(); \&main::tick },
	'@{}' => sub { main::work(); [1] },
	'fallback' => 1;
sub new { my $x = 1; return bless \$x, shift }
sub compare { main::work(); return 0 }

package Tied;
sub TIESCALAR { my $x = 1; return bless \$x, shift }
sub FETCH { main::work(); return 1 }
sub STORE { main::work() }

package TiedHash;
sub TIEHASH { return bless {}, shift }
sub FETCH { main::work(); return 1 }
sub STORE { main::work() }
sub EXISTS { main::work(); return 1 }
sub DELETE { main::work() }
sub FIRSTKEY { main::work(); return }
sub SCALAR { main::work(); return 1 }

package TiedHandle;
sub TIEHANDLE { return bless {}, shift }
sub PRINT { main::work() }
sub READLINE { main::work(); return "line\n" }

package Some::Deep::Package;
sub f { return main::work() }

package main;

open FORMATTED, ">", "/dev/null" or die;
format FORMATTED =
@<<<
work()
.
format CALLING_TOP =
top
.
format CALLING =
@<<< @<<<
in_chain(), 1
.

my $closure = do { my $n = 1; sub { $n++; return work() } };
our $made = Made->new;
tie my $tied, 'Tied';
tie my %tied, 'TiedHash';
tie *TIED, 'TiedHandle';
*named = sub { return work() };
*aliased = \&work;
my @numbers = (2, 1);

sub compare { work(); return $a <=> $b }

sub sort_prototyped($$) { work(); return $_[0] <=> $_[1] }

sub shape_plain { work() }
sub shape_chain { f24(\&in_chain) }
sub shape_recursion { recurse(100) }
sub shape_loops { loops() }
sub shape_package { Some::Deep::Package::f() }
sub shape_method { $made->method }
sub shape_class_method { Made->method }
sub shape_super { Child->new->method }
sub shape_method_by_name { my $name = "method"; $made->$name() }
sub shape_can { $made->can("method")->($made) }
sub shape_autoload { Auto->new->anything(1) }
sub shape_destroy { my $x = Made->new(dies => 1); undef $x; return 1 }
sub shape_destroy_scope { { my $x = Made->new(dies => 1); } return 1 }
sub shape_anonymous { my $f = sub { my $r = work(); return $r }; $f->() }
sub shape_closure { $closure->() }
sub shape_named_glob { named() }
sub shape_aliased { aliased() }
sub shape_block { with_block { work() } }
sub shape_block_in_block { with_block { with_block { work() } } }
sub shape_prototype { prototyped(1, 2) }
sub shape_lvalue { lvalue() = 2 }
sub shape_wantarray { my @x = wants() }
sub shape_ampersand { ampersand(1) }
sub shape_goto { goes(1) }
sub shape_symbolic { by_name() }
sub shape_eval_block { eval { work() }; return 1 }
sub shape_eval_in_eval { eval { eval { work() }; 1 }; return 1 }
sub shape_eval_string { eval "work(); 1" or die $@ }
sub shape_eval_sub { eval "sub made_now { return work() }\nmade_now(); 1" or die $@ }
sub shape_eval_die { eval { die { a => 1 } }; work() }
sub shape_eval_died_in { eval { eval { die "x" }; work() }; return 1 }
sub shape_die_handler { local $SIG{__DIE__} = sub { work() }; eval { die "x\n" }; return 1 }
sub shape_warn_handler { local $SIG{__WARN__} = sub { work() }; warn "x\n" }
sub shape_signal { local $SIG{USR2} = sub { work() }; kill USR2 => $$; return 1 }
sub shape_sort_block { my @x = sort { work(); $a <=> $b } @numbers }
sub shape_sort_call { my @x = sort { in_chain(); 0 } @numbers }
sub shape_sort_sub { my @x = sort compare @numbers }
sub shape_sort_prototyped { my @x = sort sort_prototyped @numbers }
sub shape_sort_reference { my $f = sub { work(); 0 }; my @x = sort $f @numbers }
sub shape_sort_in_sort { my @x = sort { my @y = sort { work(); 0 } @numbers; 0 } @numbers }
sub shape_sort_eval { my @x = sort { eval { work(); 1 }; 0 } @numbers }
sub shape_sort_after_eval { my @x = sort { eval { 1 }; work(); 0 } @numbers }
sub shape_map { my @x = map { work() } @numbers }
sub shape_grep { my @x = grep { work() } @numbers }
sub shape_first { my $x = List::Util::first { work(); 0 } @numbers }
sub shape_any { my $x = List::Util::any { work(); 0 } @numbers }
sub shape_reduce { my $x = List::Util::reduce { work(); 1 } @numbers }
sub shape_first_in_first {
	my $x = List::Util::first { List::Util::first { work(); 0 } @numbers; 0 } @numbers;
}
sub shape_sort_in_first { my $x = List::Util::first { my @y = sort { work(); 0 } @numbers; 0 } @numbers }
sub shape_pairmap { my @x = List::Util::pairmap { work(); 1 } (1, 2) }
sub shape_overload_plus { my $o = Over->new; my $x = $o + 1 }
sub shape_overload_text { my $o = Over->new; my $x = "$o" }
sub shape_overload_compare { my @o = (Over->new, Over->new); my $x = $o[0] <=> $o[1] }
sub shape_overload_sort { my @o = (Over->new, Over->new); my @x = sort { $a <=> $b } @o }
sub shape_overload_bool { my $o = Over->new; return 1 if $o; return 2 }
sub shape_overload_code { my $o = Over->new; $o->(1) }
sub shape_overload_join { my $o = Over->new; my $x = join ",", $o, 1 }
sub shape_tie_fetch { my $x = $tied }
sub shape_tie_store { $tied = 2 }
sub shape_tie_hash { my $x = $tied{a} }
sub shape_tie_exists { my $x = exists $tied{a} }
sub shape_tie_keys { my @x = keys %tied }
sub shape_tie_print { print TIED "x" }
sub shape_tie_readline { my $x = <TIED> }
sub shape_tie_sort { my @x = sort { my $y = $tied; 0 } @numbers }
sub shape_tie_eval { my @x = sort { eval { my $y = $tied; 1 }; 0 } @numbers }
sub shape_substitute { my $x = "abc"; $x =~ s/b/work()/e }
sub shape_substitute_twice { my $x = "abc"; $x =~ s/b/"work()"/ee }
sub shape_match_code { "abc" =~ /b(?{ work() })c/ }
sub shape_match_code_sub { "abc" =~ /b(?{ in_chain() })c/ }
sub shape_match_made { my $r = qr/b(?{ work() })/; "abc" =~ /a$r/ }
sub shape_match_made_text { use re 'eval'; my $t = 'b(?{ work() })'; "abc" =~ /a$t/ }
sub shape_local { local $count = $count; work() }
sub shape_require { delete $INC{$main::file}; require $main::file }
sub shape_do_file { do $main::file }
sub shape_begin { eval "BEGIN { work() } 1" or die $@ }
sub shape_import { eval "use Imported; 1" or die $@ }
sub shape_postponed { my $f = \&{"in_chain"}; with_block(\&$f) }
sub shape_string_of_code { my $x = "@{[ work() ]}" }
sub shape_ternary { return @numbers ? work() : 1 }
sub shape_and { return @numbers && work() }
sub shape_chained { return Made->new->method }
sub shape_hash_of_code { my %h = (a => sub { work() }); $h{a}->() }
sub shape_local_sub { local *in_chain = sub { return work() }; in_chain() }
sub shape_replaced {
	eval "sub replaced { return work() } 1" or die $@;
	replaced();
}
sub shape_thread { local $in_thread = 1; threads->create(\&in_chain)->join }
sub shape_thread_block { local $in_thread = 1; threads->create(sub { with_block { work() } })->join }
sub shape_elsif { if (!@numbers) { return 1 }
	elsif (work()) { return 2 }
}
sub shape_else { if (!@numbers) { return 1 } else {
	work() }
}
sub shape_unless { unless (work()) { return 1 } return 2 }
sub shape_format { my $old = select(FORMATTED); write; select($old) }
sub shape_format_call { my $old = select(FORMATTED); $^ = "CALLING_TOP"; $~ = "CALLING"; write; $~ = "FORMATTED"; select($old) }
sub shape_sort_thread { local $in_thread = 1; my @x = sort { threads->create(\&in_chain)->join; 0 } @numbers }
sub shape_uniq_by { my @x = List::Util::reductions { work(); 1 } @numbers }
sub shape_first_after_eval { my $x = List::Util::first { eval { 1 }; work(); 0 } @numbers }
sub shape_first_die { my $x = eval { List::Util::first { work(); die "x" } @numbers }; return 1 }
sub shape_sort_die { my @x = eval { sort { work(); die "x" } @numbers }; return 1 }
sub shape_sort_last { for (1) { my @x = sort { work(); 0 } @numbers; last } return 1 }
sub shape_sort_in_map { my @x = map { sort { work(); 0 } @numbers } 1 }
sub shape_sort_in_place { my @x = @numbers; @x = sort { work(); 0 } @x }
sub shape_sort_reverse { my @x = reverse sort { work(); 0 } @numbers }
sub shape_sort_method { my @x = sort { $made->method; 0 } @numbers }
sub shape_sort_overload { my $o = Over->new; my @x = sort { my $y = $o + 1; 0 } @numbers }
sub shape_first_sub { my $f = \&in_chain; my $x = &List::Util::first($f, @numbers) }
sub shape_pairfirst { my @x = List::Util::pairfirst { work(); 0 } (1, 2) }
sub shape_utf8 { use utf8; café() }
{ use utf8; sub café { return work() } }

package Imported { $INC{"Imported.pm"} = __FILE__; sub import { main::work() } }

# What only newer versions have.
if ($] >= 5.022) {
	eval <<'END' or die $@;
#line 800 "known.pl"
use feature qw(lexical_subs state); no warnings;
sub shape_lexical_sub { my sub inner { return work() } inner() }
sub shape_state_sub { state sub inner { return work() } inner() }
sub shape_signature { use feature 'signatures'; my $f = sub ($x, $y = work()) { 1 }; $f->(1) }
1;
END
}
if ($] >= 5.034) {
	eval <<'END' or die $@;
#line 820 "known.pl"
use feature 'try'; no warnings;
sub shape_try { try { work() } catch ($e) { } return 1 }
sub shape_catch { try { die "x" } catch ($e) { work() } return 1 }
sub shape_try_sort { my @x = sort { try { work() } catch ($e) { } 0 } @numbers }
1;
END
}
if ($] >= 5.036) {
	eval <<'END' or die $@;
#line 840 "known.pl"
use feature 'defer'; no warnings;
sub shape_defer { { defer { work() } } return 1 }
sub shape_for_pairs { for my ($x, $y) (1, 2) { work() } }
1;
END
}
if ($] >= 5.038) {
	eval <<'END' or die $@;
#line 860 "known.pl"
use feature 'class'; no warnings;
class Point { field $x = main::field_of(); method at { return main::work() } ADJUST { main::tick(1) } }
sub field_of { return 1 }
sub shape_class_of_538 { Point->new->at }
1;
END
}

sub shapes {
	my $seconds = shift;
	my @names = sort grep { /^shape_/ && defined &$_ } keys %main::;
	@names = grep { !/_thread/ } @names unless $Config{useithreads};
	$main::file = "/tmp/otelprof-perl-$$.pl";
	open my $f, ">", $main::file or die;
	print $f "main::work();\n1;\n";
	close $f;
	my %code = map { my $name = $_; $name => \&$name } @names;
	my $said = 0;
	my $stop = now() + $seconds;
	while (!$said || now() < $stop) {
		for my $name (@names) {
			print "scene ", substr($name, 6), "\n" unless $said;
			$say = !$said;
			$code{$name}->();
		}
		print "ready $$\n" unless $said;
		$said = 1;
	}
	unlink $main::file;
}

my ($what, $seconds) = @ARGV;
$seconds ||= 5;
if ($what eq "shapes") {
	shapes($seconds);
} else {
	print "ready $$\n";
	main->can($what)->($seconds);
}
