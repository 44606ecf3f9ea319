# SPDX-License-Identifier: Apache-2.0
"""Programs made of tests/system/wild/sources: what compilers' options and control flow do to stacks."""

from program import NO_UNWIND_DATA, Program

C = "$SRC/calls.c $SRC/evaluate.c"

# What musl's functions are called by in calls.c, whatever was inlined. Words of calls that
# have returned still lie on the stack.
MUSL_NEVER = (r"(^|;)(printf_core|v?s?n?printf|vfprintf|vsnprintf|sn_write|__fwritex);"
              r"(insert|drop|primary|sum|product|evaluate|by_value);|"
              r"(^|;)(cycle|sift|trinkle|qsort_r|qsort|by_value);"
              r"(insert|drop|primary|sum|product|evaluate|expressions);|"
              r"(^|;)(malloc|calloc|free);(expressions|primary|sum|product|evaluate|by_value);")

# down() is called nine times, and each function of assembly from where sources/no-cfi.c does.
NO_CFI_NEVER = (r"(^|;)asm_(pushes|realigns|frame_pointer|calls_back);(?!down;)|"
                r"(^|;)asm_leaf;(?!down;|asm_frame_pointer;)|"
                r"(^|;)work;(?!asm_calls_back;)|"
                r"asm_\w+;(?!(down;){9}main;|asm_)")

# Its compiler wrapper knows no -static-pie.
MUSL_STATIC_PIE = (
    "musl-gcc -O2 -fPIE -c %s; libc=$(dirname $(musl-gcc -print-file-name=rcrt1.o)); "
    "musl-gcc -static -nostartfiles -Wl,-pie,--no-dynamic-linker,-z,text -o work "
    "$libc/rcrt1.o $libc/crti.o calls.o evaluate.o $libc/crtn.o" % C)

PROGRAMS = [
    Program("lto", needs="gcc", make="gcc -O2 -flto -o work %s" % C, load="exec ./work"),
    # Hot and cold parts of a function stand apart.
    Program("pgo", needs="gcc",
            make="gcc -O2 -flto -fprofile-generate -o work %s; ROUNDS=60 ./work; "
                 "gcc -O3 -flto -fprofile-use -o work %s" % (C, C),
            load="exec ./work"),
    Program("size-clang", needs="clang-14", make="clang-14 -Oz -s -o work %s" % C,
            load="exec ./work"),
    Program("debug-O0", needs="gcc", make="gcc -O0 -g -o work %s" % C, load="exec ./work"),
    # Debian's musl has no unwind data at all.
    Program("musl", needs="musl-gcc", bound=NO_UNWIND_DATA, never=MUSL_NEVER,
            make="musl-gcc -O2 -o work %s" % C, load="exec ./work"),
    Program("musl-static-pie", needs="musl-gcc", bound=NO_UNWIND_DATA, never=MUSL_NEVER,
            make=MUSL_STATIC_PIE, load="exec ./work"),
    Program("static", needs="gcc", make="gcc -O2 -static -s -o work %s" % C,
            load="exec ./work"),
    Program("split-stack", needs="gcc ld.gold",
            make="gcc -O2 -fsplit-stack -fuse-ld=gold -o work %s -pthread" % C,
            load="exec ./work"),
    Program("gccgo", needs="gccgo-12", make="gccgo-12 -O2 -o work $SRC/routines.go",
            load="exec ./work"),
    Program("coroutines", needs="g++",
            make="g++ -std=c++20 -O2 -o work $SRC/coroutines.cpp", load="exec ./work"),
    Program("altstack", needs="gcc", make="gcc -O2 -pthread -o work $SRC/altstack.c -lrt",
            load="exec ./work"),
    Program("jumps", needs="gcc", make="gcc -O2 -o work $SRC/jumps.c",
            # __start_context, which nothing has called: it lies before its return address
            begin=r"libc\.so\.6\+0x\w+", load="exec ./work"),
    Program("plugins", needs="gcc", never=r"(^|;)(inner;(?!plugin;)|plugin;(?!main;))",
            make="gcc -O2 -o work $SRC/plugins.c -ldl; for n in 1 2 3 4; do "
                 "gcc -O2 -shared -fPIC -DSTEP=$n -o plugin$n.so $SRC/plugin.c; done",
            load="exec ./work"),
    Program("no-cfi", needs="gcc", bound=NO_UNWIND_DATA, never=NO_CFI_NEVER,
            make="gcc -O2 -o work $SRC/no-cfi.c $SRC/no-cfi.S", load="exec ./work"),
]
