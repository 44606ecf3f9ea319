# SPDX-License-Identifier: Apache-2.0
# Sets and gets, 100 in a packet: memcached.pl SOCKET
use strict;
use warnings;
use IO::Socket::UNIX;

my $server = IO::Socket::UNIX->new(Peer => $ARGV[0]) or die "no memcached: $!";
my $value = "v" x 100;
for my $round (1 .. 20000) {
	my $sets = join '', map { "set k$_ 0 0 100\r\n$value\r\n" } $round .. $round + 99;
	print $server $sets, 'get ', join(' ', map { "k$_" } $round .. $round + 99), "\r\n";
	$server->flush;
	while (my $line = <$server>) {
		last if $line =~ /^END/;
	}
}
