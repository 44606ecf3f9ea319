%% SPDX-License-Identifier: Apache-2.0
%% An application under Cowboy: /, /api.
-module(web).
-export([start/0, init/2]).

start() ->
    persistent_term:put(items, [{integer_to_list(I * 7919 rem 300), I * 37 rem 101}
                                || I <- lists:seq(1, 300)]),
    {ok, _} = application:ensure_all_started(cowboy),
    Routes = cowboy_router:compile([{'_', [{"/", web, page}, {"/api", web, api}]}]),
    {ok, _} = cowboy:start_clear(web, [{port, list_to_integer(os:getenv("PORT"))}],
                                 #{env => #{dispatch => Routes}}).

init(Request, Which) ->
    Text = case Which of page -> page(); api -> api() end,
    {ok, cowboy_req:reply(200, #{<<"content-type">> => <<"text/html">>}, Text, Request), Which}.

has(C, [C | _]) -> true;
has(C, [_ | Rest]) -> has(C, Rest);
has(_, []) -> false.

find(C) -> [Item || {Name, _} = Item <- persistent_term:get(items), has(C, Name)].

add([{Name, Price} | Rest], Sum) -> add(Rest, Sum + Price * 3 rem 7 + hd(Name));
add([], Sum) -> Sum.

total() -> lists:foldl(fun(_, Sum) -> add(persistent_term:get(items), Sum) end, 0,
                       lists:seq(1, 20)).

row({Name, Price}) -> ["<li>", escape(Name), $ , integer_to_list(Price), "</li>"].

escape([$< | Rest]) -> ["&lt;" | escape(Rest)];
escape([C | Rest]) -> [C | escape(Rest)];
escape([]) -> [].

page() ->
    Rows = lists:sort(fun({A, P}, {B, Q}) -> {P, A} =< {Q, B} end, find($1)),
    ["<ul>", lists:map(fun row/1, Rows), "</ul>", integer_to_list(total())].

api() -> lists:join(",", [Name ++ integer_to_list(total()) || {Name, _} <- find($2)]).
