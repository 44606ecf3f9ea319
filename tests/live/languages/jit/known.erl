%% SPDX-License-Identifier: Apache-2.0
%% loop calls f3, which calls f2, which calls f1, which calls one of three leaves. All leaves have
%% their work done by the same function, which counts down: 50, 30 and 20 % of the time.
-module(known).
-export([main/1]).

work(0, X) -> X;
work(N, X) -> work(N - 1, (X * 3 + N) band 65535).

leaf_a(X) -> work(1000000, X) + 1.
leaf_b(X) -> work(600000, X) + 2.
leaf_c(X) -> work(400000, X) + 3.

f1(a, X) -> leaf_a(X) + 1;
f1(b, X) -> leaf_b(X) + 1;
f1(c, X) -> leaf_c(X) + 1.

f2(Which, X) -> f1(Which, X) + 1.

f3(Which, X) -> f2(Which, X) + 1.

loop(X, Last) ->
    Y = f3(c, f3(b, f3(a, X))),
    case erlang:monotonic_time(millisecond) < Last of
        true -> loop(Y band 65535, Last);
        false -> Y
    end.

main(Seconds) ->
    loop(1, erlang:monotonic_time(millisecond) + Seconds * 1000).
