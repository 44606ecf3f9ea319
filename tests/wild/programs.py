# SPDX-License-Identifier: Apache-2.0
"""The programs: what each needs, how its input is made, how it is kept busy.

All of it is shell. @make runs once in the program's own folder, outside of the recording;
@load runs in a control group while the profilers record, and is killed with all its children
at the end. $DIR is that folder, $SRC is tests/wild/sources, $TOP the project. Inputs are the
same in every run.
"""

from dataclasses import dataclass


@dataclass
class Program:
    name: str
    load: str
    needs: str = ""  # commands or files, any of which missing skips the program
    make: str = ""
    exe: str = ""  # a pattern: only processes of these executables are judged
    asm: bool = False  # much of it is assembly by hand, some without unwind data
    bound: float = 1.0  # per cent of stacks that may end early
    warm: float = 0  # seconds of load before the recording, for what starts slowly


# 16 MB of text that compresses about as well as text does.
TEXT = "seq 1 2000000 | awk '{ print $1 * 7919 % 1000003, \"word\" $1 % 977 }' >text; "


PROGRAMS = [
    Program("convert", needs="convert",
            load="while :; do convert -seed 1 -size 600x600 plasma:fractal -blur 0x8 "
                 "-resize 180% -emboss 2 -colorspace Lab out.png; done", bound=0.5),
    Program("xz", needs="xz", make=TEXT,
            load="while :; do xz -6 -k -c text | xz -d -c >/dev/null; done"),
    Program("gcc", needs="gcc", make="sh $SRC/c-source.sh 400 >big.c",
            load="while :; do gcc -O2 -c -o big.o big.c; done"),
    Program("sqlite", needs="sqlite3",
            make="printf 'create table t(a,b,c);with recursive n(i) as (select 1 union all "
                 "select i+1 from n where i<200000) insert into t select i,i*7919%%100003,"
                 "hex(i) from n;create index tb on t(b);' | sqlite3 db.tmp; mv db.tmp db",
            load="while :; do sqlite3 db 'select count(*),sum(x.a),max(y.c) from t x join t y "
                 "on x.b=y.b where x.c like \"%3%\" group by x.a%100 order by 2' >/dev/null; "
                 "done"),
    Program("perl", needs="perl", make=TEXT,
            load="while :; do perl -ne 'for my $w (split) { $n{$w}++ while $w =~ /[0-9]/g } "
                 "END { print join(\",\", (sort { $n{$a} <=> $n{$b} } keys %n)[0..9]) }' text "
                 ">/dev/null; done"),
]
