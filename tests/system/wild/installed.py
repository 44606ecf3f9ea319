# SPDX-License-Identifier: Apache-2.0
"""Programs of Debian's packages."""

from program import NO_UNWIND_DATA, TEXT, Program, forever

MEDIA = [
    Program("convert", needs="convert", bound=0.5,
            load=forever("convert -seed 1 -size 600x600 plasma:fractal -blur 0x8 "
                         "-resize 180% -emboss 2 -colorspace Lab out.png")),
    Program("ffmpeg", needs="ffmpeg", bound=NO_UNWIND_DATA,
            load=forever("ffmpeg -v error -f lavfi -i testsrc2=size=640x360:rate=30 -t 60 "
                         "-c:v libx264 -threads 2 -f null -")),
    Program("x265", needs="x265 ffmpeg", bound=NO_UNWIND_DATA,
            make="ffmpeg -v error -y -f lavfi -i testsrc2=size=640x360:rate=30 -t 2 "
                 "-pix_fmt yuv420p in.y4m",
            load=forever("x265 --log-level error --preset medium in.y4m -o out.hevc")),
    Program("gs", needs="gs",
            make="printf '%%!PS\n/f { dup 0 gt { 1 sub gsave 0.7 0.7 scale 30 rotate "
                 "200 50 translate 0 0 moveto 300 40 lineto 40 300 lineto closepath "
                 "gsave dup 9 div 1 1 sethsbcolor fill grestore stroke dup f grestore gsave "
                 "-20 rotate 0.7 0.7 scale 20 90 translate dup f grestore 1 add } if pop } def"
                 "\n100 100 translate 10 f showpage\n' >in.ps",
            load=forever("gs -q -dBATCH -dNOPAUSE -sDEVICE=png16m -r200 -dTextAlphaBits=4 "
                         "-dGraphicsAlphaBits=4 -o out.png in.ps")),
    Program("flac", needs="flac ffmpeg",
            make="ffmpeg -v error -y -f lavfi -i 'sine=440:d=60,tremolo,vibrato' -ar 44100 in.wav",
            load=forever("flac -s -f -8 -o out.flac in.wav; flac -s -d -f -o out.wav out.flac")),
    Program("cjxl", needs="cjxl ffmpeg",
            make="ffmpeg -v error -y -f lavfi -i testsrc2=size=800x600 -frames:v 1 in.png",
            load=forever("cjxl --quiet -e 6 in.png out.jxl")),
    # Its code has no unwind data.
    Program("chromium", needs="chromium", bound=NO_UNWIND_DATA, warm=3,
            load=forever("timeout 20 chromium --headless --no-sandbox --disable-gpu "
                         "--user-data-dir=$DIR/profile --screenshot=$DIR/page.png "
                         "file://$SRC/page.html")),
    # 240 MB in one file, and no code made at run time.
    Program("chromium-nojit", needs="chromium", bound=NO_UNWIND_DATA, warm=3,
            load=forever("timeout 20 chromium --headless --no-sandbox --disable-gpu "
                         "--js-flags=--jitless --user-data-dir=$DIR/profile "
                         "--screenshot=$DIR/page.png file://$SRC/page.html")),
]

COMPRESSION = [
    Program("xz", needs="xz", make=TEXT,
            load=forever("xz -6 -k -c text | xz -d -c >/dev/null")),
    Program("zstd", needs="zstd", make=TEXT,
            load=forever("zstd -q -12 -T2 -c text | zstd -q -d -c >/dev/null")),
    Program("tar-gzip", needs="tar gzip",
            load=forever("tar cf - -C /usr include | gzip -6 | gzip -d | tar tf - >/dev/null")),
    Program("brotli", needs="brotli", make=TEXT, load=forever("brotli -q 6 -c text >/dev/null")),
    Program("7z", needs="7z", make=TEXT,
            load=forever("7z a -bso0 -bsp0 -mmt2 out.7z text; rm -f out.7z")),
]

C_SOURCE = "sh $SRC/c-source.sh 400 >big.c; "
OBJECTS = ("for i in $(seq 1 150); do sh $SRC/c-source.sh 6 | sed \"s/\\bf\\([0-9]\\)/u${i}_\\1/\" "
           ">u$i.c; gcc -g -O1 -c u$i.c; done; echo 'int main(void) { return 0; }' >main.c; "
           "gcc -g -c main.c; ")

BUILDS = [
    Program("gcc", needs="gcc", make=C_SOURCE, load=forever("gcc -O2 -c -o big.o big.c")),
    Program("g++", needs="g++", make="sh $SRC/cpp-source.sh 40 >big.cc",
            load=forever("g++ -O2 -g -c -o big.o big.cc")),
    Program("clang", needs="clang-14", make=C_SOURCE,
            load=forever("clang-14 -O2 -c -o big.o big.c")),
    # By rustup's proxies where they are, which start the tool they stand for.
    Program("rust", needs="cargo", make="sh $SRC/rust-source.sh 60",
            load="PATH=${CARGO_HOME:-$HOME/.cargo}/bin:$PATH; "
                 + forever("rm -rf target; cargo build -q --release --offline")),
    Program("go-build", needs="go",
            load="export GOCACHE=$DIR/cache GOFLAGS=-mod=mod GOTOOLCHAIN=local; "
                 + forever("rm -rf $DIR/cache; go build -o /dev/null net/http")),
    Program("as", needs="gcc as", make=C_SOURCE + "gcc -O1 -g -S -o big.s big.c",
            load=forever("as -o big.o big.s")),
    Program("ld.bfd", needs="gcc ld.bfd", make=OBJECTS,
            load=forever("gcc -fuse-ld=bfd -o out *.o")),
    Program("ld.gold", needs="gcc ld.gold", make=OBJECTS,
            load=forever("gcc -fuse-ld=gold -o out *.o")),
    Program("ld.lld", needs="gcc ld.lld", make=OBJECTS,
            load=forever("gcc -fuse-ld=lld -o out *.o")),
    # This project's own build, as a newcomer would run it.
    Program("own-build", needs="meson ninja clang-14", make="meson setup build $TOP",
            load=forever("ninja -C build -t clean; ninja -C build -j 2")),
    Program("git", needs="git",
            make="rm -rf repo; git init -q -b main repo; "
                 "sh $SRC/history.sh 1500 | git -C repo fast-import --quiet",
            load=forever("git -C repo repack -q -a -d -f; git -C repo log -p --stat >/dev/null; "
                         "git -C repo fsck --full >/dev/null 2>&1")),
]

SHELLS = [
    Program("bash", needs="bash", load="exec bash $SRC/short.sh"),
    Program("dash", needs="dash", load="exec dash $SRC/short.sh"),
    Program("coreutils", needs="sort grep sed", make=TEXT,
            load=forever("sort -k 2 text | uniq -c | sed -n 's/word1/x/p' | wc >/dev/null; "
                         "sha256sum text; md5sum text; grep -c -E '(12|34)+5.*word[0-9]7' text; "
                         "base64 text | tr A-Z a-z | cut -c 1-20 >/dev/null")),
    Program("gawk", needs="gawk", make=TEXT,
            load=forever("gawk '{ n[$2] += length($1); if ($1 ~ /7+3/) m++ } END { "
                         "k = asorti(n, s); for (i = 1; i <= k; i++) print s[i] }' text "
                         ">/dev/null")),
]

LANGUAGES = [
    Program("python", needs="/usr/bin/python3", load="exec /usr/bin/python3 $SRC/work.py"),
    Program("perl", needs="perl", make=TEXT,
            load=forever("perl -ne 'for my $w (split) { $n{$w}++ while $w =~ /[0-9]/g } END { "
                         "print join(\",\", (sort { $n{$a} <=> $n{$b} } keys %n)[0..9]) }' "
                         "text >/dev/null")),
    Program("openssl", needs="openssl", bound=NO_UNWIND_DATA,
            load=forever("openssl speed -seconds 1 -bytes 16384 sha256 aes-256-cbc rsa2048 "
                         "ecdsap256 ed25519")),
    Program("dot", needs="dot",
            make="awk 'BEGIN { print \"digraph g {\"; for (i = 1; i < 220; i++) { print i, \"->\", "
                 "int(i / 2); print i, \"->\", (i * 7) % 220 } print \"}\" }' >in.dot",
            load=forever("dot -Tsvg -o out.svg in.dot")),
]

PG = "/usr/lib/postgresql/15/bin"
SERVERS = [
    Program("postgres", needs="%s/postgres pgbench" % PG, warm=2,
            # The server refuses root: it is somebody else in a user namespace.
            make="rm -rf data; unshare -U --map-user=1000 %s/initdb -D data -U root "
                 "--no-sync >/dev/null" % PG,
            load="unshare -U --map-user=1000 %s/postgres -D data -k $DIR -c fsync=off "
                 "-c listen_addresses= & until pgbench -h $DIR -i -q -s 2 postgres; do sleep 0.5; done; %s" % (
                     PG, forever("pgbench -h $DIR -U root -c 4 -T 60 postgres"))),
    Program("redis", needs="redis-server redis-benchmark",
            load="redis-server --port 0 --unixsocket $DIR/socket --save '' & sleep 0.5; "
                 + forever("redis-benchmark -s $DIR/socket -q -n 100000 -t "
                           "set,get,lpush,lrange_300,zadd,mset")),
    Program("nginx", needs="nginx wrk", make=TEXT + "head -c 20000 text >small",
            load="echo \"daemon off; error_log $DIR/error.log; pid $DIR/pid; events {} "
                 "http { access_log $DIR/access.log; gzip on; gzip_types *; server { "
                 "listen 127.0.0.1:$PORT; root $DIR; } }\" >conf; "
                 "nginx -c $DIR/conf -g 'user root;' & sleep 0.5; "
                 + forever("wrk -t 1 -c 20 -d 60 -H 'Accept-Encoding: gzip' "
                           "http://127.0.0.1:$PORT/small")),
    Program("memcached", needs="memcached perl",
            load="memcached -u root -s $DIR/socket -t 2 & sleep 0.5; "
                 + forever("perl $SRC/memcached.pl $DIR/socket")),
    Program("mariadb", needs="mariadbd mariadb-slap mariadb-install-db", warm=3,
            make="rm -rf data; mariadb-install-db --no-defaults --user=root --datadir=$DIR/data "
                 "--auth-root-authentication-method=normal >/dev/null",
            load="mariadbd --no-defaults --user=root --datadir=$DIR/data --skip-networking "
                 "--socket=$DIR/socket --pid-file=$DIR/pid & sleep 2; "
                 + forever("mariadb-slap --no-defaults -u root -S $DIR/socket -a "
                           "--auto-generate-sql-load-type=mixed -c 2 "
                           "--number-of-queries=20000")),
    Program("sqlite", needs="sqlite3",
            make="rm -f db; printf 'create table t(a,b,c); with recursive n(i) as (select 1 "
                 "union all select i+1 from n where i<200000) insert into t select "
                 "i,i*7919%%100003,hex(i) from n; create index tb on t(b);' | sqlite3 db",
            load=forever("sqlite3 db 'select count(*),sum(x.a),max(y.c) from t x join t y on "
                         "x.b=y.b where x.c like \"%3%\" group by x.a%100 order by 2' "
                         ">/dev/null")),
]

PROGRAMS = MEDIA + COMPRESSION + BUILDS + SHELLS + LANGUAGES + SERVERS
