# SPDX-License-Identifier: Apache-2.0
# The static library: one object in which the public calls alone are global, so that no name of
# the library's insides meets one of the program:
#
#     archive.py OBJCOPY AR OUTPUT PRIVATE MORE... -- COMPILER...
#
# All of the archive PRIVATE is taken, and of the archives MORE what it needs.
import os
import subprocess
import sys
import tempfile

at = sys.argv.index('--')
objcopy, ar, output, private, *more = sys.argv[1:at]
compiler = sys.argv[at + 1:]
with tempfile.TemporaryDirectory() as folder:
    whole = os.path.join(folder, 'otelprof.o')
    subprocess.run([*compiler, '-r', '-nostdlib', '-o', whole, '-Wl,--whole-archive', private,
                    '-Wl,--no-whole-archive', *more], check=True)
    subprocess.run([objcopy, '--localize-hidden', whole], check=True)
    if os.path.exists(output):
        os.unlink(output)
    subprocess.run([ar, 'rcsD', output, whole], check=True)
