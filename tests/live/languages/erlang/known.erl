%% SPDX-License-Identifier: Apache-2.0
%%
%% Programs whose stacks are known. For Erlang/OTP 25 and later.
%%
%%   spin SECONDS    a chain of 24 functions f24..f1, then leaf_50, leaf_30 or leaf_20, which loop
%%                   5, 3 and 2 times as often. The CPU time that as many loops of each take here
%%                   is said first: "shares", milliseconds.
%%   shapes SECONDS  every shape of code in turn. A shape's stack is said first, as Erlang's own
%%                   process_info() tells it: "scene NAME", a line a frame (leaf first: function,
%%                   file, line, separated by tabs), an empty line.
%%   calls SECONDS   the chain, then leaf_calls, which calls tick all the time, and leaf_callbacks,
%%                   which other modules call back.
%%   nif SECONDS     the chain, then a function of known_nif.c, in this process and on a dirty
%%                   scheduler. It is in known_nif.so beside this.
%%
%% After "ready PID" the work begins.
-module(known).
-export([nif_spin/1, nif_dirty/1]).
-export([main/1, work/1, handle_call/3, handle_cast/2, init/1, callback_mode/0, idle/3, awake/1]).

-define(BIG, 4000).

main([Mode, Seconds]) ->
    erlang:system_flag(backtrace_depth, 200),
    Last = now_ms() + 1000 * list_to_integer(Seconds),
    case Mode of
        "spin" -> say_shares(), ready(), spin(Last, 1);
        "calls" -> ready(), calls(Last);
        "nif" ->
            ok = erlang:load_nif(filename:rootname(code:which(?MODULE)) ++ "_nif", 0),
            ready(),
            nif(Last);
        "shapes" -> shapes(Last)
    end,
    halt().

now_ms() -> erlang:monotonic_time(millisecond).

ready() -> io:format("ready ~s~n", [os:getpid()]).

%% ---- shares ----

leaf_50(0, X) -> X;
leaf_50(N, X) -> leaf_50(N - 1, (X * 3 + N) band 65535).
leaf_30(0, X) -> X;
leaf_30(N, X) -> leaf_30(N - 1, (X * 3 + N) band 65535).
leaf_20(0, X) -> X;
leaf_20(N, X) -> leaf_20(N - 1, (X * 3 + N) band 65535).

tick(N) -> N.

leaf_calls(0) -> 0;
leaf_calls(N) -> tick(leaf_calls_one(N)), leaf_calls(N - 1).

leaf_calls_one(N) -> tick(N) - 1.

add(X) -> tick(X) + 1.

leaf_callbacks(N) ->
    L = lists:seq(1, N),
    lists:foldl(fun(X, Sum) -> add(X) + Sum end, 0, lists:map(fun(X) -> add(X) end, L)) + 1.

f1(a, N) -> leaf_50(N, N) + 1;
f1(b, N) -> leaf_30(N, N) + 2;
f1(c, N) -> leaf_20(N, N) + 3;
f1(d, N) -> leaf_calls(N) + 4;
f1(e, N) -> leaf_callbacks(N) + 5;
f1(f, N) -> nif_spin(N) + 6;
f1(g, N) -> nif_dirty(N) + 7.
f2(W, N) -> f1(W, N) + 1.
f3(W, N) -> f2(W, N) + 1.
f4(W, N) -> f3(W, N) + 1.
f5(W, N) -> f4(W, N) + 1.
f6(W, N) -> f5(W, N) + 1.
f7(W, N) -> f6(W, N) + 1.
f8(W, N) -> f7(W, N) + 1.
f9(W, N) -> f8(W, N) + 1.
f10(W, N) -> f9(W, N) + 1.
f11(W, N) -> f10(W, N) + 1.
f12(W, N) -> f11(W, N) + 1.
f13(W, N) -> f12(W, N) + 1.
f14(W, N) -> f13(W, N) + 1.
f15(W, N) -> f14(W, N) + 1.
f16(W, N) -> f15(W, N) + 1.
f17(W, N) -> f16(W, N) + 1.
f18(W, N) -> f17(W, N) + 1.
f19(W, N) -> f18(W, N) + 1.
f20(W, N) -> f19(W, N) + 1.
f21(W, N) -> f20(W, N) + 1.
f22(W, N) -> f21(W, N) + 1.
f23(W, N) -> f22(W, N) + 1.
f24(W, N) -> f23(W, N) + 1.

%% A length that changes cannot keep step with the sampling clock.
spin(Last, Number) ->
    Next = (Number * 1103515245 + 12345) band 16#7fffffff,
    N = 20000 + (Next bsr 8) rem 20000,
    _ = f24(a, 5 * N) + f24(b, 3 * N) + f24(c, 2 * N),
    case now_ms() < Last of
        true -> spin(Last, Next);
        false -> ok
    end.

%% A loop of one leaf may take longer than that of another: code that is made here lies anywhere.
say_shares() ->
    Times = [cpu_ms(W, N) || {W, N} <- [{a, 150000}, {b, 90000}, {c, 60000}]],
    io:format("shares ~b ~b ~b~n", Times).

cpu_ms(W, N) ->
    {Begin, _} = erlang:statistics(runtime),
    [f24(W, N) || _ <- lists:seq(1, 4000)],
    {End, _} = erlang:statistics(runtime),
    End - Begin.

calls(Last) ->
    _ = f24(d, 20000) + f24(e, 200),
    case now_ms() < Last of
        true -> calls(Last);
        false -> ok
    end.

nif_spin(_) -> erlang:nif_error(not_loaded).
nif_dirty(_) -> erlang:nif_error(not_loaded).

nif(Last) ->
    _ = f24(f, 200000) + f24(g, 200000),
    case now_ms() < Last of
        true -> nif(Last);
        false -> ok
    end.

%% ---- shapes ----

%% The leaf of most scenes. {say, Name} says the stack that leads here.
work({say, Name}) -> say(Name, work), 0;
work(0) -> 0;
work(N) -> work(N - 1).

%% C code is the leaf, below it Erlang's. It runs on the thread's own stack.
hash({say, Name}, _) -> say(Name, hash), 0;
hash(N, _) when N =< 0 -> 0;
hash(N, Big) -> _ = erlang:phash2(Big), hash(N - 16 * ?BIG, Big).

md5({say, Name}, _) -> say(Name, md5), 0;
md5(N, _) when N =< 0 -> 0;
md5(N, Big) -> _ = erlang:md5(element(2, Big)), md5(N - 16 * ?BIG, Big).

collect({say, Name}, _) -> say(Name, collect), 0;
collect(N, _) when N =< 0 -> 0;
collect(N, Big) -> _ = erts_internal:garbage_collect(major), collect(N - 8 * ?BIG, Big).

big() ->
    case get(big) of
        undefined -> put(big, {lists:seq(1, ?BIG), binary:copy(<<"0123456789">>, ?BIG)}), get(big);
        Big -> Big
    end.

say(Name, Leaf) ->
    {current_stacktrace, Stack} = process_info(self(), current_stacktrace),
    Frames = lists:dropwhile(fun({M, F, _, _}) -> {M, F} =/= {known, Leaf} end, Stack),
    io:format("scene ~s~n~s~n", [Name, [frame(F) || F <- Frames]]).

frame({M, F, A, Where}) ->
    io_lib:format("~tp:~tp/~b\t~ts\t~b~n", [M, F, A, proplists:get_value(file, Where, ""),
                                            proplists:get_value(line, Where, 0)]).

deep(0, W) -> work(W) + 1;
deep(N, W) -> deep(N - 1, W) + 1.

even(0, W) -> work(W) + 1;
even(N, W) -> odd(N - 1, W) + 1.
odd(N, W) -> X = even(N - 1, W), X + 2.

tail(W) -> tail_two(W, 1).
tail_two(W, _) -> tail_three(W).
tail_three(W) -> work(W) + 1.

arity(A, B, C, D, E, F, G, H, I, W) -> work(W) + A + B + C + D + E + F + G + H + I.

'odd name'(W) -> work(W) + 1.

thrower(X) -> throw({x, X}).

%% Sixty terms live across the call.
wide(W) ->
    A0 = tick(0),
    A1 = tick(1),
    A2 = tick(2),
    A3 = tick(3),
    A4 = tick(4),
    A5 = tick(5),
    A6 = tick(6),
    A7 = tick(7),
    A8 = tick(8),
    A9 = tick(9),
    A10 = tick(10),
    A11 = tick(11),
    A12 = tick(12),
    A13 = tick(13),
    A14 = tick(14),
    A15 = tick(15),
    A16 = tick(16),
    A17 = tick(17),
    A18 = tick(18),
    A19 = tick(19),
    A20 = tick(20),
    A21 = tick(21),
    A22 = tick(22),
    A23 = tick(23),
    A24 = tick(24),
    A25 = tick(25),
    A26 = tick(26),
    A27 = tick(27),
    A28 = tick(28),
    A29 = tick(29),
    A30 = tick(30),
    A31 = tick(31),
    A32 = tick(32),
    A33 = tick(33),
    A34 = tick(34),
    A35 = tick(35),
    A36 = tick(36),
    A37 = tick(37),
    A38 = tick(38),
    A39 = tick(39),
    A40 = tick(40),
    A41 = tick(41),
    A42 = tick(42),
    A43 = tick(43),
    A44 = tick(44),
    A45 = tick(45),
    A46 = tick(46),
    A47 = tick(47),
    A48 = tick(48),
    A49 = tick(49),
    A50 = tick(50),
    A51 = tick(51),
    A52 = tick(52),
    A53 = tick(53),
    A54 = tick(54),
    A55 = tick(55),
    A56 = tick(56),
    A57 = tick(57),
    A58 = tick(58),
    A59 = tick(59),
    X = work(W),
    tick([A0, A1, A2, A3, A4, A5, A6, A7, A8, A9]),
    tick([A10, A11, A12, A13, A14, A15, A16, A17, A18, A19]),
    tick([A20, A21, A22, A23, A24, A25, A26, A27, A28, A29]),
    tick([A30, A31, A32, A33, A34, A35, A36, A37, A38, A39]),
    tick([A40, A41, A42, A43, A44, A45, A46, A47, A48, A49]),
    tick([A50, A51, A52, A53, A54, A55, A56, A57, A58, A59]),
    X + 1.

init(idle) -> {ok, idle, 0};
init(X) -> {ok, X}.
handle_call(W, _From, State) -> {reply, work(W), State}.
handle_cast(_, State) -> {noreply, State}.

callback_mode() -> state_functions.
idle({call, From}, W, Data) ->
    Reply = work(W),
    {keep_state, Data, [{reply, From, Reply}]}.

awake(Parent) ->
    receive {do, W} -> Parent ! {done, work(W)} end,
    receive stop -> ok end.

%% Do it in another process.
elsewhere(F) ->
    {_, Ref} = spawn_monitor(F),
    receive {'DOWN', Ref, process, _, _} -> 0 end.

scene(plain, W) -> work(W) + 1;
scene(deep, W) -> deep(60, W) + 1;
scene(mutual, W) -> even(20, W) + 1;
scene(tail, W) -> tail(W) + 1;
scene(wide, W) -> wide(W) + 1;
scene(arity, W) -> arity(1, 2, 3, 4, 5, 6, 7, 8, 9, W) + 1;
scene(odd_name, W) -> 'odd name'(W) + 1;
scene(closure, W) -> F = fun(X) -> work(W) + X end, F(1) + 1;
scene(nested_fun, W) -> F = fun() -> G = fun() -> work(W) + 1 end, G() + 1 end, F() + 1;
scene(named_fun, W) ->
    F = fun Down(0) -> work(W) + 1; Down(N) -> Down(N - 1) + 1 end,
    F(5) + 1;
scene(external_fun, W) -> F = fun ?MODULE:work/1, F(W) + 1;
scene(applied, W) -> apply(?MODULE, element(1, {work, W}), [W]) + 1;
scene(applied_fun, W) -> apply(fun(X, Y) -> work(X) + Y end, [W, 1]) + 1;
scene(comprehension, W) -> length([work(W) + X || X <- [1]]) + 1;
scene(binary_comprehension, W) -> byte_size(<< <<(work(W) + X)>> || <<X>> <= <<1>> >>) + 1;
scene(binary, W) -> byte_size(<<1, (work(W)):16, 2>>) + 1;
scene(map, W) -> length(lists:map(fun(X) -> work(W) + X end, [1])) + 1;
scene(foldl, W) -> lists:foldl(fun(X, Sum) -> work(W) + X + Sum end, 0, [1]) + 1;
scene(foldr, W) -> lists:foldr(fun(X, Sum) -> work(W) + X + Sum end, 0, [1]) + 1;
scene(sort, W) -> length(lists:sort(fun(X, Y) -> work(W) + X =< Y end, [2, 1])) + 1;
scene(maps_fold, W) -> maps:fold(fun(_, X, Sum) -> work(W) + X + Sum end, 0, #{a => 1}) + 1;
scene(dict, W) ->
    dict:fold(fun(_, X, Sum) -> work(W) + X + Sum end, 0, dict:from_list([{a, 1}])) + 1;
scene(ets, W) ->
    Table = ets:new(t, []),
    ets:insert(Table, {a, 1}),
    X = ets:foldl(fun(_, Sum) -> work(W) + Sum end, 0, Table),
    ets:delete(Table),
    X + 1;
scene(try_body, W) -> try work(W) + 1 catch _:_ -> 2 end;
scene(try_catch, W) -> try thrower(W) catch throw:{x, X} -> work(X) + 1 end;
scene(try_after, W) -> try tick(1) after work(W) + 1 end;
scene(try_of, W) -> try tick(W) of X -> work(X) + 1 catch _:_ -> 2 end;
scene(old_catch, W) -> (catch work(W)) + 1;
scene('receive', W) -> self() ! {do, W}, receive {do, X} -> work(X) + 1 end;
scene(spawned, W) -> elsewhere(fun() -> work(W) + 1 end);
scene(spawned_function, W) -> elsewhere_mfa(?MODULE, work, [W]);
scene(proc_lib, W) ->
    Pid = proc_lib:spawn(fun() -> work(W) + 1 end),
    wait(Pid);
scene(gen_server, W) -> gen_server:call(get(server), W, infinity) + 1;
scene(gen_statem, W) -> gen_statem:call(get(statem), W) + 1;
scene(hibernated, W) ->
    Parent = self(),
    Pid = spawn(fun() -> erlang:hibernate(?MODULE, awake, [Parent]) end),
    Pid ! {do, W},
    receive {done, X} -> Pid ! stop, X end;
scene(evaluated, W) ->
    {value, X, _} = erl_eval:exprs(get(parsed), [{'W', W}]),
    X + 1;
scene(made, W) -> (get(made)):run(W) + 1;
scene(replaced, W) -> swapped:run(W) + 1;
scene(elixir, W) -> 'Elixir.Demo.Worker':run(W) + 1;
scene(big_number, W) -> (1 bsl 200 + work(W)) rem 7;
scene(float, W) -> X = math:sqrt(2.0) * 3, trunc(X + work(W)) + 1;
scene(hash, W) -> hash(W, big()) + 1;
scene(md5, W) -> md5(W, big()) + 1;
scene(collect, W) -> collect(W, big()) + 1.

elsewhere_mfa(M, F, A) ->
    {_, Ref} = spawn_monitor(M, F, A),
    receive {'DOWN', Ref, process, _, _} -> 0 end.

wait(Pid) ->
    Ref = monitor(process, Pid),
    receive {'DOWN', Ref, process, _, _} -> 0 end.

names() ->
    [plain, deep, mutual, tail, wide, arity, odd_name, closure, nested_fun, named_fun, external_fun,
     applied, applied_fun, comprehension, binary_comprehension, binary, map, foldl, foldr, sort,
     maps_fold, dict, ets, try_body, try_catch, try_after, try_of, old_catch, 'receive', spawned,
     spawned_function, proc_lib, gen_server, gen_statem, hibernated, evaluated, made, replaced,
     elixir, big_number, float, hash, md5, collect].

%% A module with run(W) -> known:work(W) + Plus, whose lines begin at Line.
make(Module, File, Line, Plus) ->
    Text = io_lib:format("-module('~s').~n-export([run/1]).~nrun(W) ->~n~sknown:work(W) + ~b.~n",
                         [Module, lists:duplicate(Line, $\n), Plus]),
    Forms = forms(lists:flatten(Text), 1),
    {ok, Name, Code} = compile:forms([{attribute, 1, file, {File, 1}} | Forms]),
    {module, Name} = code:load_binary(Name, File, Code).

forms(Text, Line) ->
    case erl_scan:tokens([], Text, Line) of
        {done, {ok, Tokens, Next}, Rest} ->
            {ok, Form} = erl_parse:parse_form(Tokens),
            [Form | forms(Rest, Next)];
        _ -> []
    end.

shapes(Last) ->
    make(made_here, "made.erl", 1, 1),
    put(made, made_here),
    %% Old code is dropped before new code comes.
    [begin make(swapped, "swapped.erl", Line, Line), code:purge(swapped) end || Line <- [40, 3, 7]],
    make('Elixir.Demo.Worker', "worker.ex", 2, 1),
    {ok, Tokens, _} = erl_scan:string("F = fun(X) -> known:work(X) + 1 end, F(W) + 1."),
    {ok, Parsed} = erl_parse:parse_exprs(Tokens),
    put(parsed, Parsed),
    {ok, Server} = gen_server:start(?MODULE, 1, []),
    put(server, Server),
    {ok, Statem} = gen_statem:start(?MODULE, idle, []),
    put(statem, Statem),
    rounds(Last, say).

%% The first round says the stacks.
rounds(Last, Count) ->
    [scene(Name, if Count =:= say -> {say, Name}; true -> Count end) || Name <- names()],
    case Count of
        say -> ready();
        _ -> ok
    end,
    case now_ms() < Last of
        true -> rounds(Last, 1000000);
        false -> ok
    end.
