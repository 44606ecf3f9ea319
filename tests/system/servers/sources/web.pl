# SPDX-License-Identifier: Apache-2.0
# A Mojolicious application: /, /api. /judge begins to look with a timer whose handler asks caller(), and
# says at its second call which subs were innermost: a line each, "COUNT NAME".
use Mojolicious::Lite -signatures;
use Time::HiRes qw(setitimer ITIMER_PROF);

my @items = map { {name => "item " . $_ * 7919 % 300, price => $_ * 37 % 101} } 1 .. 300;
my %seen;
my $looks = 0;

sub find ($text) { return grep { index($_->{name}, $text) >= 0 } @items }

sub total (@list) {
	my $sum = 0;
	for my $item (@list) {
		$sum += $item->{price} * 3 % 7;
	}
	return $sum;
}

sub by_price { return $a->{price} <=> $b->{price} || $a->{name} cmp $b->{name} }

sub look {
	my $i = 1; # it is called in an eval
	$i++ while ((caller($i))[3] // "") eq "(eval)";
	$seen{(caller($i))[3] // "(main)"}++;
}

get '/' => sub ($c) {
	$c->stash(items => [sort by_price find("1")], total => total(@items));
	$c->render(template => 'page');
};

get '/api' => sub ($c) {
	$c->render(json => [map { {%$_, sum => total(@items)} } find("2")]);
};

get '/judge' => sub ($c) {
	if (!$looks) {
		$SIG{PROF} = \&look;
		setitimer(ITIMER_PROF, 0.002, 0.002);
		$looks = 1;
		return $c->render(text => "looks");
	}
	setitimer(ITIMER_PROF, 0);
	$c->render(text => join "", map { "$seen{$_} $_\n" } keys %seen);
};

app->log->level('fatal');
app->start;

__DATA__
@@ page.html.ep
<ul>
% for my $item (@$items) {
<li><%= $item->{name} %> <%= $item->{price} %></li>
% }
</ul><%= $total %>
