# SPDX-License-Identifier: Apache-2.0
#
# young.pl SECONDS - threads that live for about a millisecond, and the next one gets the memory. A
# thread calls a sub of the program, which is named in each thread's own memory, or one that it
# makes. Says "now NAME LINE BEGIN END" of each, with the line of its call of burn() and seconds
# since the epoch.

use strict;
use warnings;
use threads;
use Time::HiRes ();

$| = 1;

sub now { return Time::HiRes::time() }

sub burn {
	my $end = now() + 0.001;
	my $x = 0;
	while (now() < $end) {
		$x = ($x * 31 + $_) & 0xffff for 1 .. 100;
	}
	return $x;
}

# A sub for each number. Those of a package have a name without a glob.
for my $n (1 .. 200) {
	my $package = $n % 2 ? "Young" : "main";
	eval "package $package;\n#line $n \"young.pl\"\nsub sub_$n { my \$x = main::burn(); return \$x } 1"
		or die $@;
}

sub makes {
	my ($name, $line) = @_;
	my $code = "package Made;" . "\n" x ($line - 1);
	if ($name =~ /ANON/) {
		eval("$code sub { my \$x = main::burn(); return \$x }")->();
	} else {
		eval "$code sub $name { my \$x = main::burn(); return \$x } 1" or die $@;
		Made->can($name)->();
	}
}

my $stop = now() + $ARGV[0];
print "ready $$\n";
for (my $n = 0; now() < $stop; $n++) {
	my $line = 1 + $n % 200;
	my $name = $line % 2 ? "Young::sub_$line" : "main::sub_$line";
	my $begin = now();
	if ($n % 4) {
		threads->create({void => 1}, $name)->join;
	} else {
		$line = 1 + $n * 7 % 40;
		$name = $n % 8 ? "Made::__ANON__" : "Made::made_$n";
		threads->create({void => 1}, \&makes, $name =~ s/.*:://r, $line)->join;
	}
	printf "now %s %d %.6f %.6f\n", $name, $line, $begin, now();
}
