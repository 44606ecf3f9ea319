# SPDX-License-Identifier: Apache-2.0
"""The host examples in other languages and loops, built as their heads say and run live.

usage: test_hosts.py LIBRARY SOURCE_ROOT BUILD_ROOT    each skips where its tool is missing
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

LIBRARY, SOURCE, BUILD = (pathlib.Path(a).resolve() for a in sys.argv[1:4])
HOSTS = SOURCE / 'examples/hosts'
CFLAGS = [f'-I{SOURCE}/include', f'-I{BUILD}/include']
ENV = dict(os.environ, LD_LIBRARY_PATH=str(LIBRARY.parent), OTELPROF_LIBRARY=str(LIBRARY))


def sanitized():
    symbols = subprocess.run(['nm', '-D', LIBRARY], capture_output=True, text=True, check=True)
    return '__asan_init' in symbols.stdout


def preload():
    """What a program that was not built with the sanitizers needs to load such a library."""
    files = [subprocess.run(['cc', f'-print-file-name={name}'], capture_output=True, text=True,
                            check=True).stdout.strip() for name in ('libasan.so', 'libubsan.so')]
    return ':'.join(files)


class Hosts(unittest.TestCase):
    def setUp(self):
        # Something to see, also on an idle machine.
        busy = subprocess.Popen([sys.executable, '-c', 'while True: pass'])
        self.addCleanup(busy.wait)
        self.addCleanup(busy.kill)
        self.dir = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def need(self, *tools):
        for tool in tools:
            if not shutil.which(tool):
                self.skipTest(f'no {tool}')

    def build(self, *command, **more):
        r = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False,
                           **more)
        self.assertEqual(r.returncode, 0, f'{command}: {r.stderr}')
        self.assertEqual(r.stderr, '', command)

    def run_host(self, *command):
        env = dict(ENV)
        if sanitized():
            env.update(LD_PRELOAD=preload(), ASAN_OPTIONS='detect_leaks=0')
        r = subprocess.run([*command, '2'], env=env, capture_output=True, text=True, timeout=120,
                           check=False)
        if r.returncode and 'CAP_' in r.stderr:
            self.skipTest(r.stderr.strip())
        self.assertEqual(r.returncode, 0, r.stdout + r.stderr)
        self.assertRegex(r.stdout, r'(?m)^request of \d{3,} bytes with [1-9]\d* samples$')
        # what the program counted is the sum of its requests
        sums = re.findall(r'(?m)^(\d+) samples', r.stdout)
        if sums:
            each = re.findall(r'with (\d+) samples', r.stdout)
            self.assertEqual(int(sums[-1]), sum(map(int, each)), r.stdout)

    def link(self):
        return [f'-L{LIBRARY.parent}', '-lotelprof', '-Wl,--allow-shlib-undefined']

    def test_python(self):
        self.run_host(sys.executable, str(HOSTS / 'profile.py'))

    def test_cxx(self):
        self.need('g++')
        program = self.dir / 'profile'
        self.build('g++', '-std=c++17', '-Wall', '-Wextra', *CFLAGS, HOSTS / 'profile.cc', '-o',
                   program, *self.link())
        self.run_host(program)

    def test_libuv(self):
        self.need('cc', 'pkg-config')
        uv = subprocess.run(['pkg-config', '--cflags', '--libs', 'libuv'], capture_output=True,
                            text=True, check=False)
        if uv.returncode:
            self.skipTest('no libuv (Debian: libuv1-dev)')
        program = self.dir / 'profile'
        self.build('cc', '-Wall', '-Wextra', *CFLAGS, HOSTS / 'profile_uv.c', '-o', program,
                   *self.link(), *uv.stdout.split())
        self.run_host(program)

    def test_rust(self):
        self.need('rustc')
        program = self.dir / 'profile'
        self.build('rustc', '--edition', '2021', HOSTS / 'profile.rs', '-o', program,
                   f'-L{LIBRARY.parent}', '-C', 'link-arg=-Wl,--allow-shlib-undefined')
        self.run_host(program)

    def test_go(self):
        self.need('go', 'pkg-config')
        (self.dir / 'otelprof.pc').write_text(
            'Name: otelprof\nDescription: as built here\nVersion: 0\n'
            f'Cflags: {" ".join(CFLAGS)}\nLibs: {" ".join(self.link())}\n')
        program = self.dir / 'profile'
        self.build('go', 'build', '-o', program, '.', cwd=HOSTS / 'go',
                   env=dict(os.environ, PKG_CONFIG_PATH=str(self.dir), GOFLAGS='-mod=mod',
                            GOTOOLCHAIN='local', CGO_LDFLAGS_ALLOW='-Wl,--allow-shlib-undefined'))
        self.run_host(program)


if __name__ == '__main__':
    if os.geteuid():
        print('SKIP: not root')
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
