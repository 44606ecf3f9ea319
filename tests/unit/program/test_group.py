# SPDX-License-Identifier: Apache-2.0
"""Only root and the daemon's group may use the control socket of `otelprof export`.

usage: test_group.py PROGRAM    which is linked with fake_otelprof.c; 77 without root
"""
import grp
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = os.path.abspath(sys.argv[1])
NOBODY = 65534
GROUP = grp.getgrgid(1)  # daemon, of every Debian
ASK = '''
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(b'status\\n')
print(s.recv(1000).decode())
'''


def ask(path, *identity):
    """What the daemon answers to a process that is nobody, of these groups."""
    return subprocess.run(['setpriv', f'--reuid={NOBODY}', *identity, sys.executable, '-c', ASK,
                           path], capture_output=True, text=True, check=False, timeout=60)


class Group(unittest.TestCase):
    def setUp(self):
        self.dir = self.enterContext(tempfile.TemporaryDirectory())
        os.chmod(self.dir, 0o755)
        self.path = os.path.join(self.dir, 'control')

    def daemon(self, *options):
        daemon = subprocess.Popen([PROGRAM, 'export', '-d', '60', '--control=' + self.path,
                                   *options], stderr=subprocess.DEVNULL)
        self.addCleanup(daemon.wait)
        self.addCleanup(daemon.terminate)
        for _ in range(200):
            # the file is there before its group is, and both before it is listened at
            with socket.socket(socket.AF_UNIX) as probe:
                if probe.connect_ex(self.path) == 0:
                    return
            time.sleep(0.05)
        self.fail('no control socket')

    def check(self, gid):
        for identity in (['--regid', str(gid), '--clear-groups'],
                         ['--regid', str(NOBODY), '--groups', f'{NOBODY},{gid}']):
            r = ask(self.path, *identity)
            self.assertEqual(r.returncode, 0, r.stderr)
            self.assertIn('paused no', r.stdout, identity)
        stranger = ['--regid', str(NOBODY), '--groups', str(gid + 1000)]
        r = ask(self.path, *stranger)
        self.assertIn('PermissionError', r.stderr)
        # nor where the file lets everybody
        os.chmod(self.path, 0o666)
        r = ask(self.path, *stranger)
        self.assertTrue(r.stdout.startswith('error this is for root'), r)

    def test_the_daemon_s_own_group(self):
        self.daemon()
        self.assertEqual(os.stat(self.path).st_gid, os.getegid())
        self.check(os.getegid())

    def test_a_group_that_was_named(self):
        self.daemon('--control-group', GROUP.gr_name)
        self.assertEqual(os.stat(self.path).st_gid, GROUP.gr_gid)
        self.check(GROUP.gr_gid)


if __name__ == '__main__':
    if os.geteuid():
        print('SKIP: not root')
        sys.exit(77)
    if not shutil.which('setpriv'):
        print('SKIP: no setpriv')
        sys.exit(77)
    if subprocess.run(['setpriv', f'--reuid={NOBODY}', '--clear-groups', sys.executable, '-c',
                       ''], check=False, capture_output=True).returncode:
        print('SKIP: nobody may not run this Python')
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
