# SPDX-License-Identifier: Apache-2.0
"""The host examples in other languages and loops, built as their heads say and run live.

usage: test_hosts.py LIBRARY SOURCE_ROOT BUILD_ROOT HOST    77 where its tool is missing
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
CACHE = pathlib.Path(os.environ.get('OTELPROF_CACHE') or
                     pathlib.Path.home() / '.cache/otelprof-tests')
OLDEST_RUST = (1, 85)  # for today's bindgen and tokio
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
        r = subprocess.run(command, capture_output=True, text=True, timeout=500, check=False,
                           **more)
        self.assertEqual(r.returncode, 0, f'{command}: {r.stderr}')
        self.assertEqual(r.stderr, '', command)

    def run_host(self, *command, more=()):
        env = dict(ENV)
        if sanitized():
            env.update(LD_PRELOAD=preload(), ASAN_OPTIONS='detect_leaks=0')
        r = subprocess.run([*command, '2', *more], env=env, capture_output=True, text=True, timeout=120,
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

    def test_throws(self):
        self.need('g++')
        program = self.dir / 'throws'
        self.build('g++', '-std=c++17', '-Wall', '-Wextra', *CFLAGS,
                   SOURCE / 'tests/live/hosts/throws.cc', '-o', program, *self.link())
        self.run_host(program)

    def own_names(self, own, *options):
        """A host with functions that have the names of libbpf's, zlib's and zstd's, as a vendor's
        copies of those would have: own.o exports them, own-local.o keeps them to itself."""
        self.need('cc', 'objcopy')
        sources, program = SOURCE / 'tests/live/hosts', self.dir / 'host'
        self.build('cc', '-c', sources / 'own_names.c', '-o', self.dir / 'own.o')
        self.build('objcopy', '--keep-global-symbol=ZSTD_compress',
                   '--keep-global-symbol=own_calls', self.dir / 'own.o',
                   self.dir / 'own-local.o')
        self.build('cc', '-D_GNU_SOURCE', '-Wall', *CFLAGS, sources / 'own_names_host.c',
                   self.dir / own, '-o', program, *options, '-ldl')
        return program

    def test_own_names(self):
        """Whose functions are called where a host has its own of a name: docs/embedding.md."""
        linked = ['-Wl,--no-as-needed', *self.link()]
        self.run_host(self.own_names('own-local.o', *linked))
        self.run_host(self.own_names('own.o'), more=[LIBRARY, ''])
        if not sanitized():  # whose run time refuses RTLD_DEEPBIND
            self.run_host(self.own_names('own.o', '-rdynamic'), more=[LIBRARY, 'deep'])
        # This is a limit of shared libraries, and shows that the test would see it.
        with self.assertRaisesRegex(AssertionError, r'functions were called \d+ times'):
            self.run_host(self.own_names('own.o', *linked))

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

    def pkg_config(self):
        """The environment in which pkg-config knows the library that was built here."""
        (self.dir / 'otelprof.pc').write_text(
            'Name: otelprof\nDescription: as built here\nVersion: 0\n'
            f'Cflags: {" ".join(CFLAGS)}\nLibs: {" ".join(self.link())}\n')
        return dict(os.environ, PKG_CONFIG_PATH=str(self.dir))

    def test_tokio(self):
        self.need('cargo', 'rustc', 'pkg-config')
        version = subprocess.run(['rustc', '--version'], capture_output=True, text=True,
                                 check=True).stdout.split()[1]
        if tuple(map(int, version.split('.')[:2])) < OLDEST_RUST:
            self.skipTest(f'rustc {version} is too old for bindgen and tokio')
        # crates stay compiled from run to run; cargo writes its lock file beside the sources
        work = CACHE / 'hosts-rust'
        shutil.copytree(HOSTS / 'rust', work / 'source', dirs_exist_ok=True)
        fetch = subprocess.run(['timeout', '120', 'cargo', 'fetch', '--quiet'],
                               cwd=work / 'source', check=False, capture_output=True, text=True)
        if fetch.returncode:
            self.skipTest('cargo fetch: no registry of crates can be reached')
        # what bindgen has written is of the header and the library of that time
        subprocess.run(['cargo', 'clean', '--quiet', '--offline', '--package', 'profile'],
                       cwd=work / 'source', check=False,
                       env=dict(os.environ, CARGO_TARGET_DIR=str(work / 'target')))
        env = dict(self.pkg_config(), CARGO_TARGET_DIR=str(work / 'target'))
        self.build('cargo', 'build', '--quiet', '--offline', cwd=work / 'source', env=env)
        self.run_host(work / 'target/debug/profile')

    def test_go(self):
        self.need('go', 'pkg-config')
        program = self.dir / 'profile'
        self.build('go', 'build', '-o', program, '.', cwd=HOSTS / 'go',
                   env=dict(self.pkg_config(), GOFLAGS='-mod=mod', GOTOOLCHAIN='local',
                            CGO_LDFLAGS_ALLOW='-Wl,--allow-shlib-undefined'))
        self.run_host(program)


if __name__ == '__main__':
    if os.geteuid():
        print('SKIP: not root')
        sys.exit(77)
    result = unittest.TextTestRunner(verbosity=2).run(Hosts(f'test_{sys.argv[4]}'))
    for _, reason in result.skipped:
        print('SKIP: ' + reason)
        sys.exit(77)
    sys.exit(not result.wasSuccessful())
