# SPDX-License-Identifier: Apache-2.0
"""The shared library exports what its version script names, and nothing else. It and its modules
call nothing that changes what a whole process has one of."""
import re
import subprocess
import sys


# Of the program that loads the library: its heap, its signals, its environment, its limits, its
# end. libbpf_set_print() is called and undone: tests/live/library/test_untouched.c.
OF_THE_HOST = set("""
    malloc_trim mallopt signal sigaction sigaltstack alarm setitimer raise abort exit _exit
    atexit setlocale tzset setenv unsetenv putenv clearenv umask chdir setrlimit setpriority
    nice prctl srand srandom openlog system popen wait
""".split())


def calls(library):
    out = subprocess.run(["nm", "-D", "--undefined-only", library], check=True,
                         capture_output=True, text=True).stdout
    return {line.split()[-1].split("@")[0] for line in out.splitlines()}


def main(library, script, *modules):
    promised = set(re.findall(r"^\s+(otelprof_\w+);", open(script).read(), re.M))
    out = subprocess.run(["nm", "-D", "--defined-only", library], check=True,
                         capture_output=True, text=True).stdout
    exported = {line.split()[2].split("@")[0] for line in out.splitlines()
                if line.split()[1] in "TtBbDdRrWwVv"}
    wrong = [f"not exported: {s}" for s in sorted(promised - exported)]
    wrong += [f"exported without a promise: {s}" for s in sorted(exported - promised)]
    for file in (library, *modules):
        called = calls(file)
        wrong += [f"{file} calls {s}()" for s in sorted(called & OF_THE_HOST)]
        if "malloc" not in called:
            wrong.append(f"{file}: its calls cannot be seen")
    if not promised:
        wrong.append("the version script names nothing")
    print("\n".join(wrong) or f"{len(exported)} symbols")
    return bool(wrong)


sys.exit(main(*sys.argv[1:]))
