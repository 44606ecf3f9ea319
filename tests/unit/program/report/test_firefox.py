# SPDX-License-Identifier: Apache-2.0
"""convert's Firefox profile as the profiler's own command line reads it (npm:
@firefox-devtools/profiler-cli 0.10.0, which needs Node.js 24).

usage: test_firefox.py PROGRAM    77 where the reader is not in $OTELPROF_CACHE/firefox
                                  (OTELPROF_FIREFOX=1 or CI=true installs it there)
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = os.path.abspath(sys.argv[1])
CACHE = os.path.join(os.environ.get('OTELPROF_CACHE', os.path.expanduser('~/.cache/otelprof-tests')),
                     'firefox')
NODE = os.path.join(CACHE, 'node_modules/node/bin/node')
READER = os.path.join(CACHE, 'node_modules/@firefox-devtools/profiler-cli/dist/profiler-cli.js')
SECONDS = 60

# Of request.h: each process's functions with the events they were on top of.
SELF = {'web': {'web!parse': 3, 'vmlinux!ksys_read': 2}, 'python': {'work': 4},
        'evil': {'python3.11!a;b': 1}}


def install():
    if not shutil.which('npm'):
        return False
    os.makedirs(CACHE, exist_ok=True)
    return subprocess.run(['npm', 'install', '--silent', '--no-audit', '--no-fund', '--prefix', CACHE,
                           '@firefox-devtools/profiler-cli@0.10.0', 'node@24'],
                          capture_output=True).returncode == 0


class Firefox(unittest.TestCase):
    def setUp(self):
        d = tempfile.TemporaryDirectory()
        self.addCleanup(d.cleanup)
        self.dir = d.name
        self.env = dict(os.environ, PROFILER_CLI_SESSION_DIR=os.path.join(d.name, 's'))

    def read(self, *args):
        r = subprocess.run([NODE, READER, *args, '--session', 'x'], env=self.env, text=True,
                           capture_output=True, timeout=SECONDS)
        return r.stdout if r.returncode == 0 else None

    def wait_for(self, *args):
        """Its daemon starts in the background."""
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            out = self.read(*args)
            if out:
                return json.loads(out)
            time.sleep(0.3)
        return self.fail('no answer to ' + ' '.join(args))

    def test_functions_and_samples(self):
        recording, profile = (os.path.join(self.dir, n) for n in ('a.otlp', 'a.firefox.json'))
        for args in (['record', '-d', '0.1', '-o', recording],
                     ['convert', '-o', profile, recording]):
            subprocess.run([PROGRAM, *args], check=True, capture_output=True, timeout=SECONDS)
        self.read('load', profile)
        self.addCleanup(self.read, 'stop')
        info = self.wait_for('profile', 'info', '--all', '--json')
        found = {}
        for process in info['processes']:
            for thread in process['threads']:
                out = self.wait_for('thread', 'samples', '--thread', thread['threadHandle'],
                                    '--include-idle', '--json')
                self.assertEqual(out['weightType'], 'samples')
                found[process['name']] = {f['name']: f['selfSamples']
                                          for f in out['topFunctionsBySelf'] if f['selfSamples']}
        self.assertEqual(found, SELF)


if __name__ == '__main__':
    wanted = os.environ.get('OTELPROF_FIREFOX') == '1' or os.environ.get('CI') == 'true'
    if not os.path.exists(READER) and not (wanted and install()):
        print('SKIP: the Firefox profiler\'s reader is not in the cache (OTELPROF_FIREFOX=1 and npm)')
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
