# SPDX-License-Identifier: Apache-2.0
"""Hosts that are linked with the static library, as pkg-config --static says: one program, in
which no name of the library's insides can be seen. They run live where they may.

usage: test_static.py ARCHIVE SOURCE_ROOT BUILD_ROOT    77 where a static library is missing
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ARCHIVE, SOURCE, BUILD = (pathlib.Path(a).resolve() for a in sys.argv[1:4])
NM = subprocess.run(['nm', '-g', ARCHIVE], capture_output=True, text=True, check=True).stdout
CFLAGS = [f'-I{SOURCE}/include', f'-I{BUILD}/include']
SANITIZED = '__asan_init' in NM
# What a host may link as shared libraries: libc's, and the sanitizers'.
SHARED = re.compile(r'^(linux-vdso|libc|libm|libgcc_s|libstdc\+\+|ld-linux[\w-]*|libasan|libubsan)\.so')


def pkg_config(*args):
    env = dict(os.environ, PKG_CONFIG_PATH=str(BUILD / 'meson-uninstalled'))
    return subprocess.run(['pkg-config', *args, 'otelprof'], env=env, capture_output=True,
                          text=True, check=True).stdout.split()


def missing():
    """The libraries of pkg-config --static that are there as shared ones alone."""
    for flag in pkg_config('--static', '--libs'):
        if flag.startswith('-l') and flag != '-lotelprof':
            name = f'lib{flag[2:]}.a'
            found = subprocess.run(['cc', f'-print-file-name={name}'], capture_output=True,
                                   text=True, check=True).stdout.strip()
            if not os.path.isabs(found):
                yield name


class Static(unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        busy = subprocess.Popen([sys.executable, '-c', 'while True: pass'])
        self.addCleanup(busy.wait)
        self.addCleanup(busy.kill)

    def link(self, compiler, source, *flags):
        program = self.dir / 'host'
        more = ['-fsanitize=address,undefined'] if SANITIZED else []
        r = subprocess.run([compiler, *more, *CFLAGS, source, '-o', program,
                            f'-L{ARCHIVE.parent}', *flags], capture_output=True, text=True,
                           check=False)
        self.assertEqual(r.returncode, 0, r.stderr)
        return program

    def run_host(self, program):
        r = subprocess.run([program, '2'], env=dict(os.environ, ASAN_OPTIONS='detect_leaks=0'),
                           capture_output=True, text=True, timeout=120, check=False)
        if os.geteuid() or 'CAP_' in r.stderr:
            self.skipTest('linked; not run: no rights here')
        self.assertEqual(r.returncode, 0, r.stdout + r.stderr)
        self.assertRegex(r.stdout, r'(?m)^request of \d{3,} bytes with [1-9]\d* samples$')

    def static(self):
        return ['-Wl,-Bstatic', *pkg_config('--static', '--libs'), '-Wl,-Bdynamic']

    def check_alone(self, program):
        out = subprocess.run(['ldd', program], capture_output=True, text=True, check=True).stdout
        names = [os.path.basename(line.split()[0]) for line in out.splitlines()]
        self.assertEqual([n for n in names if not SHARED.match(n)], [], out)

    def test_only_public_calls_are_global(self):
        script = (SOURCE / 'lib/otelprof.map').read_text()
        names = {line.split()[-1] for line in NM.splitlines()
                 if re.search(r' [TDBRVW] \w', line)}
        names = {n for n in names if not n.startswith(('__odr_asan', '.', '__asan'))}
        self.assertEqual(names, set(re.findall(r'^\t(otelprof_\w+);', script, re.M)))

    def test_c(self):
        program = self.link('cc', SOURCE / 'examples/epoll.c', *self.static())
        self.check_alone(program)
        self.run_host(program)

    def test_cxx(self):
        if subprocess.run(['sh', '-c', 'command -v g++'], capture_output=True,
                          check=False).returncode:
            self.skipTest('no g++')
        program = self.link('g++', SOURCE / 'examples/hosts/profile.cc', '-std=c++17',
                            *self.static())
        self.check_alone(program)
        self.run_host(program)

    def test_without_any_shared_library(self):
        """Also libc: the transports cannot be loaded then, so the host takes the bytes."""
        if SANITIZED:
            self.skipTest('the sanitizers do not link so')
        program = self.link('cc', SOURCE / 'examples/epoll.c', '-static',
                            *pkg_config('--static', '--libs'))
        self.run_host(program)

    def test_names_of_a_host_are_its_own(self):
        """A host that has functions of the library's internal names."""
        source = self.dir / 'host.c'
        source.write_text('''#include <otelprof/otelprof.h>
            int op_fail(void); int op_log(void); int op_config_init(void);
            int op_fail(void) { return 1; }
            int op_log(void) { return 2; }
            int op_config_init(void) { return 4; }
            int main(void)
            {
                struct otelprof_config c = { 3 };
                struct otelprof_error_info why = { .size = sizeof(why) };
                struct otelprof *p = NULL;
                if (otelprof_init(&c, &why, &p) >= 0 || !*why.message)
                    return 9;
                return op_fail() + op_log() + op_config_init() - 7;
            }''')
        program = self.link('cc', source, *self.static())
        self.assertEqual(subprocess.run([program], check=False).returncode, 0)


if __name__ == '__main__':
    WITHOUT = sorted(missing())
    if WITHOUT:
        print('SKIP: no ' + ', '.join(WITHOUT))
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
