# SPDX-License-Identifier: Apache-2.0
"""A file as a C array: embed.py INPUT OUTPUT HEADER NAME [PART...]

A line "@@part.js@@" of INPUT becomes the file PART of that name, without its line with the licence.
"""
import os
import sys

source, target, header, name = sys.argv[1:5]
with open(source, 'rb') as f:
    data = f.read()
for path in sys.argv[5:]:
    with open(path, 'rb') as f:
        part = f.read()
    mark = b'@@' + os.path.basename(path).encode() + b'@@\n'
    if data.count(mark) != 1:
        sys.exit(f'{source}: needs one line "{mark.decode().strip()}"')
    if b'SPDX' in part.split(b'\n', 1)[0]:
        part = part.split(b'\n', 1)[1]
    data = data.replace(mark, part)
if sys.argv[5:] and b'\n@@' in data:
    sys.exit(f'{source}: a part is missing')
with open(target, 'w') as f:
    f.write(f'#include "{header}"\n\nconst unsigned char {name}[] = {{\n')
    for i in range(0, len(data), 16):
        f.write('\t' + ' '.join(f'{b},' for b in data[i:i + 16]) + '\n')
    # Add a NUL that the length does not count, so that a text can be used as a string.
    f.write(f'\t0,\n}};\nconst size_t {name}_len = {len(data)};\n')
