% SPDX-License-Identifier: Apache-2.0
app([],L,L). app([H|T],L,[H|R]) :- app(T,L,R).
nrev([],[]). nrev([H|T],R) :- nrev(T,RT), app(RT,[H],R).
range(N,N,[N]) :- !. range(I,N,[I|T]) :- I<N, I1 is I+1, range(I1,N,T).
queens(N,Qs) :- range(1,N,Ns), sel_q(Ns,[],Qs).
sel_q([],Qs,Qs). sel_q(Un,Safe,Qs) :- sel(Q,Un,Rest), \+ attack(Q,Safe), sel_q(Rest,[Q|Safe],Qs).
attack(X,Xs) :- att(X,1,Xs). att(X,N,[Y|_]) :- X is Y+N ; X is Y-N. att(X,N,[_|Ys]) :- N1 is N+1, att(X,N1,Ys).
sel(X,[X|Xs],Xs). sel(X,[Y|Ys],[Y|Zs]) :- sel(X,Ys,Zs).
run :- repeat, range(1,400,L), nrev(L,_), queens(8,_), atom_length(abc,_), fail.
:- initialization(run).
