# SPDX-License-Identifier: Apache-2.0
# A file as a C array: embed.py INPUT OUTPUT HEADER NAME
import sys

source, target, header, name = sys.argv[1:]
with open(source, 'rb') as f:
    data = f.read()
with open(target, 'w') as f:
    f.write(f'#include "{header}"\n\nconst unsigned char {name}[] = {{\n')
    for i in range(0, len(data), 16):
        f.write('\t' + ' '.join(f'{b},' for b in data[i:i + 16]) + '\n')
    # Add a NUL that the length does not count, so that a text can be used as a string.
    f.write(f'\t0,\n}};\nconst size_t {name}_len = {len(data)};\n')
