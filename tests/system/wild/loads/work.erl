%% SPDX-License-Identifier: Apache-2.0
-module(work). -export([main/0]).
fib(N) when N<2 -> N; fib(N) -> fib(N-1)+fib(N-2).
maps(N) -> maps:size(lists:foldl(fun(I,M) -> M#{I rem 997 => I} end, #{}, lists:seq(1,N))).
bins(N) -> byte_size(list_to_binary([integer_to_binary(I) || I <- lists:seq(1,N)])).
re(N) -> re:replace(binary:copy(<<"xaay">>,N),"a+","b",[global]).
main() -> fib(24), maps(20000), bins(20000), re(500), lists:sort([ (I*7919) rem 10007 || I <- lists:seq(1,20000)]), main().
