# SPDX-License-Identifier: Apache-2.0
# A BPF object, compressed, as a C header: pack.py INPUT OUTPUT NAME
import sys
import zlib

source, target, name = sys.argv[1:]
with open(source, 'rb') as f:
    data = f.read()
if b'\0.rodata\0' in data:
    # BTF says that the section has no variable, and Linux 5.10 refuses it: then the verifier knows no
    # global function, and looks at each with every call.
    sys.exit(f'{source}: a constant without a name (.rodata); set the members of a struct one by one')
packed = zlib.compress(data, 9)
with open(target, 'w') as f:
    f.write(f'static const unsigned char {name}_bytes[] = {{\n')
    for i in range(0, len(packed), 16):
        f.write('\t' + ' '.join(f'{b},' for b in packed[i:i + 16]) + '\n')
    f.write(f'}};\nstatic const struct op_packed_object {name}_object = {{\n'
            f'\t{name}_bytes, {len(packed)}, {len(data)}\n}};\n')
