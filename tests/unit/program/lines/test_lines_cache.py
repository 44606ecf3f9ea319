# SPDX-License-Identifier: Apache-2.0
"""The cache of source lines, as `otelprof report` uses it on a live recording.

usage: test_lines_cache.py OTELPROF
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
OTELPROF = os.path.abspath(sys.argv[1])
NOBODY = 65534


@unittest.skipIf(os.geteuid() != 0, 'the live run needs root')
class Cache(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.known, cls.recording = (os.path.join(cls.folder, n) for n in ('known', 'a.otlp'))
        subprocess.run(['gcc', '-g', '-O2', os.path.join(HERE, 'known.c'), '-o', cls.known],
                       check=True)
        r = subprocess.run([OTELPROF, 'record', '-q', '-F', '499', '-o', cls.recording, '--',
                            cls.known, '60000000'], capture_output=True, text=True, timeout=300)
        if r.returncode == 1 and 'CAP_' in r.stderr:
            raise unittest.SkipTest('profiling does not work here')
        assert r.returncode == 0, r.stderr
        shutil.copy(cls.known, cls.known + '.whole')

    def setUp(self):
        shutil.copy(self.known + '.whole', self.known)
        self.cache = tempfile.mkdtemp(dir=self.folder)

    def report(self, *args, **env):
        """The report, and what was said; --symbols makes it say what the cache did."""
        r = subprocess.run([OTELPROF, 'report', '--format=json', '-n', '200', '--symbols',
                            '/nowhere', *args, self.recording], check=True, capture_output=True,
                           text=True, timeout=120, env={**os.environ, **env})
        return json.loads(r.stdout), r.stderr

    def counted(self, *args, **env):
        """The report, and how many places were cached, files written and refused."""
        rows, said = self.report('--lines-cache', self.cache, *args, **env)
        m = re.search(r'(\d+) of these places were in the cache; (\d+) of its files were written, '
                      r'(\d+) refused', said)
        return rows, tuple(map(int, m.groups()))

    def files(self):
        return [os.path.join(self.cache, n) for n in os.listdir(self.cache)]

    def has_inner(self, report):
        return 'inner' in {row['name'] for row in report['rows']}

    def test_the_second_report_is_the_same_from_the_cache(self):
        plain, said = self.report('--no-lines-cache')
        self.assertNotIn('cache', said)
        self.assertTrue(self.has_inner(plain))
        first, (cached, written, refused) = self.counted()
        self.assertEqual((cached, refused), (0, 0))
        self.assertEqual(written, len(self.files()))
        self.assertGreater(written, 0)
        self.assertEqual(first, plain)
        second, (cached, written, refused) = self.counted()
        self.assertGreater(cached, 1)
        self.assertEqual((written, refused), (0, 0))
        self.assertEqual(second, plain)
        # It is known by its build id, wherever the file is now.
        os.unlink(self.known)
        self.assertEqual(self.counted()[0], plain)
        self.assertFalse(self.has_inner(self.report('--no-lines-cache')[0]))

    def test_damaged_files_are_refused_and_written_anew(self):
        plain, (_, written, _) = self.counted()
        for path in self.files():
            with open(path, 'r+b') as f:
                f.seek(-1, os.SEEK_END)
                last = f.read(1)[0]
                f.seek(-1, os.SEEK_END)
                f.write(bytes([last ^ 1]))
        self.assertEqual(self.counted(), (plain, (0, written, written)))
        again, (cached, written, refused) = self.counted()
        self.assertGreater(cached, 1)
        self.assertEqual((again, written, refused), (plain, 0, 0))

    def test_a_file_that_is_nearly_full_is_begun_anew(self):
        plain, (_, written, _) = self.counted()
        for path in self.files():
            os.truncate(path, 13 << 20)
        self.assertEqual(self.counted(), (plain, (0, written, 0)))
        self.assertTrue(all(os.path.getsize(path) < 1 << 20 for path in self.files()))

    def test_files_of_others_are_refused(self):
        plain, (_, written, _) = self.counted()
        for path in self.files():
            os.chown(path, NOBODY, NOBODY)
        self.assertEqual(self.counted(), (plain, (0, written, written)))

    def test_a_folder_that_is_not_safe_is_not_used(self):
        self.counted()
        link = self.cache + '.link'
        os.symlink(self.cache, link)
        os.chmod(self.cache, 0o755)
        self.assertIn('is no cache: it must be yours', self.report('--lines-cache', self.cache)[1])
        os.chmod(self.cache, 0o700)
        self.assertIn('there is no cache at', self.report('--lines-cache', link)[1])
        os.chown(self.cache, NOBODY, NOBODY)
        self.assertIn('is no cache: it must be yours', self.report('--lines-cache', self.cache)[1])
        # Its owner could put another folder in its place.
        inside = os.path.join(self.cache, 'inside')
        self.assertIn('is no cache: it must be yours', self.report('--lines-cache', inside)[1])

    def test_the_default_folder(self):
        def where(**env):
            self.report(**env)
            return sorted(os.path.relpath(os.path.join(at, n), self.cache)
                          for at, _, names in os.walk(self.cache) for n in names)

        files = where(XDG_CACHE_HOME=self.cache)
        self.assertTrue(files)
        self.assertTrue(all(re.match(r'otelprof/[0-9a-f]+\.lines$', f) for f in files), files)
        for path, mode in (('otelprof', 0o700), (files[0], 0o600)):
            self.assertEqual(os.stat(os.path.join(self.cache, path)).st_mode & 0o777, mode)
        shutil.rmtree(os.path.join(self.cache, 'otelprof'))
        self.assertEqual(where(XDG_CACHE_HOME='', HOME=self.cache), ['.cache/' + f for f in files])
        shutil.rmtree(os.path.join(self.cache, '.cache'))
        self.assertEqual(where(XDG_CACHE_HOME='relative', HOME='nowhere'), [])

    def test_what_others_may_have_written_is_not_kept(self):
        os.chown(self.known, NOBODY, NOBODY)
        self.assertTrue(self.has_inner(self.counted()[0]))
        os.chown(self.known, 0, 0)
        os.chmod(self.known, 0o757)
        self.assertTrue(self.has_inner(self.counted()[0]))
        os.chmod(self.known, 0o755)
        _, (cached, written, _) = self.counted()
        self.assertGreater(written, 0)
        self.assertFalse(self.counted()[1][1])

    def test_nor_is_what_stands_in_a_separate_file_of_others(self):
        debug = self.known + '.debug'
        subprocess.run('objcopy --only-keep-debug {0} {1} && strip -g {0} && objcopy '
                       '--add-gnu-debuglink={1} {0}'.format(self.known, debug), shell=True,
                       check=True)
        self.addCleanup(os.unlink, debug)
        os.chown(debug, NOBODY, NOBODY)
        self.assertTrue(self.has_inner(self.counted()[0]))
        os.chown(debug, 0, 0)
        self.assertGreater(self.counted()[1][1], 0)
        self.assertFalse(self.counted()[1][1])

    def test_symbols_alone_are_not_kept(self):
        subprocess.run(['strip', '-g', self.known], check=True)
        self.counted()
        shutil.copy(self.known + '.whole', self.known)
        self.assertTrue(self.has_inner(self.counted()[0]))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
