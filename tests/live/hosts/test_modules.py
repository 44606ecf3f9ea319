# SPDX-License-Identifier: Apache-2.0
"""The library loads the transports that lie with it: as installed, beside it, and each of two
copies in one process its own.

usage: test_modules.py LIBRARY MODULE...    77 without the rights to make a handle
"""
import ctypes
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ERROR_INFO_BYTES = 3600
OTLP_BYTES = 120
PROTOCOLS = {'grpc': b'grpc', 'http': b'http/protobuf'}
SKIPPED = 77


def load(paths, kinds):
    """In a process of its own: make an exporter of each of @kinds with each library of @paths, and
    print which files are mapped that have a name of ours."""
    for path in paths:
        library = ctypes.CDLL(path)
        why = (ctypes.c_size_t * (ERROR_INFO_BYTES // 8))(ERROR_INFO_BYTES)
        handle = ctypes.c_void_p()
        r = library.otelprof_init(None, why, ctypes.byref(handle))
        if r < 0:
            print('SKIP:', bytes(why)[16:528].split(b'\0')[0].decode())
            sys.exit(SKIPPED)
        for kind in kinds:
            settings = ctypes.c_void_p()
            assert library.otelprof_settings_new(ctypes.byref(settings)) == 0
            for key, value in ((b'endpoint', b'http://127.0.0.1:1'),
                               (b'protocol', PROTOCOLS[kind])):
                r = library.otelprof_settings_set(settings, key, value, why)
                assert r == 0, bytes(why)[16:528]
            otlp = (ctypes.c_size_t * (OTLP_BYTES // 8))(OTLP_BYTES)
            assert library.otelprof_settings_get_otlp(settings, otlp) == 0
            r = library.otelprof_exporter_otlp(handle, otlp)
            library.otelprof_last_error(handle, why)
            assert r > 0, (r, bytes(why)[16:].replace(b'\0', b''))
        maps = pathlib.Path('/proc/self/maps').read_text().splitlines()
        print(*sorted({line.split(None, 5)[5] for line in maps if 'libotelprof' in line}))


class Modules(unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())).resolve()

    def copy(self, name, below):
        """A copy of all, with modules in the folder @below of the library's."""
        library = self.dir / name / 'libotelprof.so.0'
        (library.parent / below).mkdir(parents=True)
        shutil.copy(LIBRARY, library)
        return str(library), [shutil.copy(m, library.parent / below / m.name) for m in MODULES]

    def mapped(self, *libraries):
        """What is mapped after the exporters of each library were made."""
        env = {k: v for k, v in os.environ.items() if k != 'OTELPROF_MODULE_DIR'}
        # the same names twice are what is tested
        env['ASAN_OPTIONS'] = 'detect_leaks=0:detect_odr_violation=0'
        if SANITIZED:
            env['LD_PRELOAD'] = ':'.join(subprocess.run(
                ['cc', f'-print-file-name={name}'], capture_output=True, text=True,
                check=True).stdout.strip() for name in ('libasan.so', 'libubsan.so'))
        kinds = [m.name.split('-')[1].split('.')[0] for m in MODULES]
        r = subprocess.run([sys.executable, __file__, '--load', *kinds, '--', *libraries],
                           env=env, capture_output=True, text=True, check=False, timeout=120)
        if r.returncode == SKIPPED:
            self.skipTest(r.stdout.strip().removeprefix('SKIP: '))
        self.assertEqual(r.returncode, 0, r.stdout + r.stderr)
        return [set(line.split()) for line in r.stdout.splitlines()]

    def test_as_installed(self):
        library, modules = self.copy('usr', 'otelprof')
        self.assertEqual(self.mapped(library), [{library, *map(str, modules)}])

    def test_beside_it(self):
        library, modules = self.copy('vendor', '.')
        self.assertEqual(self.mapped(library), [{library, *map(str, modules)}])

    def test_two_in_one_process(self):
        first, of_first = self.copy('one', 'otelprof')
        second, of_second = self.copy('two', '.')
        self.assertEqual(self.mapped(first, second),
                         [{first, *map(str, of_first)},
                          {first, second, *map(str, of_first), *map(str, of_second)}])


if __name__ == '__main__':
    if sys.argv[1] == '--load':
        at = sys.argv.index('--')
        load(sys.argv[at + 1:], sys.argv[2:at])
        sys.exit(0)
    LIBRARY, *MODULES = (pathlib.Path(a).resolve() for a in sys.argv[1:])
    SANITIZED = '__asan_init' in subprocess.run(['nm', '-D', LIBRARY], capture_output=True,
                                                text=True, check=True).stdout
    result = unittest.TextTestRunner(verbosity=2).run(
        unittest.defaultTestLoader.loadTestsFromTestCase(Modules))
    for _, reason in result.skipped:
        print('SKIP: ' + reason)
        sys.exit(77)
    sys.exit(not result.wasSuccessful())
