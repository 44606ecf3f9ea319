#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compare our unwind tables with the output of llvm-dwarfdump and readelf for the same files.

check_table.py TABLE_INFO [--every] FILE... | --system

Each row of each FDE is checked at its first, middle and last address (--every: at all of
its addresses), and each gap between FDEs at its two ends. The CFA is taken from readelf,
because llvm-dwarfdump before 15 does not restore it with DW_CFA_restore_state; registers
and expressions from llvm-dwarfdump, because readelf prints neither expressions nor the
difference of unset and undefined. Exit 77: a tool is missing.
"""
import os
import re
import shutil
import subprocess
import sys

CHECKED = 8  # in the third number: read from the code, which nothing else does
INVALID, STOP, SP, FP, DEREF_SP, DEREF_FP, PLT, SIGNAL, REG, FRAME = range(10)
GAP_FRAME = 65536
PADDING_MAX = 15
ENTRY_BYTES = 64

X86 = {name: i for i, name in enumerate(
    'RAX RDX RCX RBX RSI RDI RBP RSP R8 R9 R10 R11 R12 R13 R14 R15'.split())}
ARM = {f'W{i}': i for i in range(31)} | {f'X{i}': i for i in range(29)} | {
    'FP': 29, 'LR': 30, 'WSP': 31, 'SP': 31, 'W29': 29, 'W30': 30}

SYSTEM = ['/lib/x86_64-linux-gnu/libc.so.6', '/lib/x86_64-linux-gnu/libm.so.6',
          '/lib64/ld-linux-x86-64.so.2', '/usr/aarch64-linux-gnu/lib/libc.so.6',
          '/lib/aarch64-linux-gnu/libc.so.6', '/bin/bash']


class Machine:
    def __init__(self, is_arm):
        self.is_arm = is_arm
        self.regs = ARM if is_arm else X86
        self.fp = 29 if is_arm else 6
        self.sp = 31 if is_arm else 7
        self.ra = 30 if is_arm else 16

    def reg(self, name):
        if name == 'RIP':
            return 16
        if name.startswith('reg'):
            return int(name[3:])
        return self.regs[name]


def expression(text, machine):
    """('reg', r, off), ('deref', r, off, add), ('plt', off, at) or None"""
    m = re.fullmatch(r'DW_OP_breg7 RSP\+(\d+), DW_OP_breg16 RIP\+0, DW_OP_lit15, DW_OP_and, '
                     r'DW_OP_lit(\d+), DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus', text)
    if m:
        return ('plt', int(m[1]), int(m[2]))
    value = None
    number = None
    for part in text.split(', '):
        if m := re.fullmatch(r'DW_OP_bregx? ?(?:0x[0-9a-f]+ )?(\w+)([+-]\d+)', part):
            value = ['reg', machine.reg(m[1]), int(m[2])]
        elif m := re.fullmatch(r'DW_OP_breg\d+ (\w+)([+-]\d+)', part):
            value = ['reg', machine.reg(m[1]), int(m[2])]
        elif part == 'DW_OP_deref' and value and value[0] == 'reg':
            value = ['deref', value[1], value[2], 0]
        elif m := re.fullmatch(r'DW_OP_plus_uconst 0x([0-9a-f]+)', part):
            if not value:
                return None
            value[-1] += int(m[1], 16)
        elif m := re.fullmatch(r'DW_OP_(?:lit|const[us]|const[1248][us])[ ]?([+-]?\d+)', part):
            number = int(m[1])
        elif part == 'DW_OP_plus' and value and number is not None:
            value[-1] += number
            number = None
        elif part == 'DW_OP_minus' and value and number is not None:
            value[-1] -= number
            number = None
        else:
            return None
    return tuple(value) if value and number is None else None


def fits16(v):
    return -32768 <= v <= 32767


def want_cfa(text, m):
    if 'DW_OP' not in text:
        r = re.fullmatch(r'(\w+?)([+-]\d+)?', text)
        value = ('reg', m.reg(r[1]), int(r[2] or 0))
    else:
        value = expression(text, m)
    if not value:
        return None
    if value[0] == 'plt':
        return (PLT, value[2]) if value[1] == 8 else None
    if value[0] == 'reg':
        if value[1] == m.sp:
            return (SP, value[2])
        if value[1] == m.fp:
            return (FP, value[2])
        return (REG, value[2] * 256 + value[1])
    if value[1] not in (m.sp, m.fp) or not fits16(value[2]) or not fits16(value[3]):
        return None
    return (DEREF_SP if value[1] == m.sp else DEREF_FP, value[3] * 65536 + (value[2] & 65535))


def place(text, m):
    """None: unchanged; ('cfa', off), ('reg', r, off), ('at', r, off), 'undefined', 'other'"""
    if text is None or text == 'same':
        return None
    if text in ('undefined', 'unspecified'):
        return 'undefined' if text == 'undefined' else None
    if r := re.fullmatch(r'\[CFA([+-]\d+)?\]', text):
        return ('cfa', int(r[1] or 0))
    if r := re.fullmatch(r'\[(DW_OP.*)\]', text):
        e = expression(r[1], m)
        return ('at', e[1], e[2]) if e and e[0] == 'reg' else 'other'
    if re.fullmatch(r'\w+', text) and 'DW_OP' not in text and text != 'CFA':
        return ('reg', m.reg(text), 0)
    return 'other'


def want(row, m):
    """(cfa, cfa_off, save, save_off) of a row {register number: text, 'CFA': text}"""
    invalid = (INVALID, 0, 0, 0)
    ra = place(row.get(m.ra), m)
    fp = place(row.get(m.fp), m)
    sp = place(row.get(m.sp), m)
    if ra == 'undefined':
        return (STOP, 0, 0, 0)
    cfa = want_cfa(row['CFA'], m)
    if not cfa or sp is not None:
        return invalid
    if fp == 'undefined':
        fp = None
    if any(isinstance(p, tuple) and not fits16(p[-1]) for p in (fp, ra)):
        return invalid
    if m.is_arm:
        if ra is None:
            if fp is None:
                return (*cfa, 0, 0)
            if fp[0] == 'cfa':
                return (*cfa, 1, fp[1])
            return (*cfa, 2, fp[2]) if fp[0] == 'at' and fp[1] == m.fp else invalid
        if ra[0] == 'cfa':
            if fp is None:
                return (*cfa, 4, ra[1])
            return (*cfa, 3, fp[1]) if fp == ('cfa', ra[1] - 8) else invalid
        return (*cfa, 5, ra[1]) if ra[0] == 'reg' and fp is None else invalid
    if fp is None:
        save = (0, 0)
    elif fp[0] == 'cfa' and fits16(fp[1]):
        save = (1, fp[1])
    elif fp[0] == 'at' and fp[1] == m.fp:
        save = (2, fp[2])
    elif fp == ('reg', m.fp, 0):
        save = (0, 0)
    else:
        return invalid
    if ra == ('cfa', -8):
        return (*cfa, *save)
    if ra and ra[0] == 'reg' and save == (0, 0):
        return (*cfa, 5, ra[1])
    return invalid


def parse_row(line, m):
    """'  0x26000: CFA=RSP+16: RBP=[CFA-16], RIP=[CFA-8]'"""
    pc, rest = line.strip().split(': ', 1)
    parts = rest.split(': ')
    row = {'CFA': parts[0].removeprefix('CFA=')}
    if len(parts) > 1:
        for r in re.finditer(r'(\w+)=((?:\[[^\]]*\])|(?:[^,]+))(?:, |$)', parts[1]):
            try:
                row[m.reg(r[1])] = r[2]
            except (KeyError, ValueError):
                pass
    return int(pc, 16), row


def is_signal_frame(rows):
    """Are they those of glibc's __restore_rt? Others have augmentation 'S', too."""
    return bool(rows) and re.search(r'RSP ?\+160, DW_OP_deref',
                                    rows[0][1]['CFA'] or '') is not None


def read_dump(tool, path, section):
    """[(start, end, is_signal, [(pc, row)])]"""
    out = subprocess.run([tool, section, path], capture_output=True, text=True,
                         check=True).stdout
    m = Machine('aarch64' in out[:300])
    fdes = []
    signal_cies = set()
    cie = None
    current = None
    for line in out.splitlines():
        if r := re.match(r'([0-9a-f]+) [0-9a-f]+ [0-9a-f]+ CIE$', line):
            cie = r[1].rjust(16, '0')
            current = None
        elif r := re.match(r'[0-9a-f]+ [0-9a-f]+ [0-9a-f]+ FDE cie=([0-9a-f]+) '
                           r'pc=([0-9a-f]+)\.\.\.([0-9a-f]+)', line):
            current = (int(r[2], 16), int(r[3], 16), r[1].rjust(16, '0') in signal_cies, [])
            fdes.append(current)
        elif 'Augmentation:' in line and 'S' in line.split('"')[1]:
            signal_cies.add(cie)
        elif current and re.match(r'  0x[0-9a-f]+: CFA', line):
            current[3].append(parse_row(line, m))
    fdes = [(start, end, signal and is_signal_frame(rows), rows)
            for start, end, signal, rows in fdes]
    fdes.sort(key=lambda f: f[0])
    return m, [f for f in fdes if f[1] > f[0] and f[0] > 0]


def read_cfas(tool, path):
    """{first address of FDE: [(pc, CFA as llvm-dwarfdump writes it, or None)]}"""
    # Its exit status also tells of debug links it could not follow.
    out = subprocess.run([tool, '--debug-dump=frames-interp', path], capture_output=True,
                         text=True, check=False).stdout
    fdes = {}
    rows = None
    for line in out.splitlines():
        if r := re.search(r' FDE cie=[0-9a-f]+ pc=([0-9a-f]+)\.\.', line):
            rows = fdes.setdefault(int(r[1], 16), [])
        elif not line.strip():
            rows = None
        elif rows is not None and (r := re.match(r'([0-9a-f]{16}) (\S+)', line)):
            text = None
            if r[2] != 'exp':
                text = r[2].upper().replace('X29', 'FP').replace('X30', 'LR')
            rows.append((int(r[1], 16), text))
    return fdes


def at(rows, pc):
    """What holds at pc of ascending [(pc, ...)]"""
    found = None
    for row in rows:
        if row[0] > pc:
            break
        found = row[1]
    return found


def merge(fdes, cfas):
    """The rows of fdes with the CFAs of the other tool"""
    for start, _, _, rows in fdes:
        other = cfas.get(start)
        if not other:
            continue
        merged = []
        for pc in sorted({pc for pc, _ in rows} | {pc for pc, _ in other}):
            row = dict(at(rows, pc))
            cfa = at(other, pc)
            if cfa is not None:
                row['CFA'] = cfa
            elif 'DW_OP' not in row['CFA']:
                row['CFA'] = None  # an expression that only one tool restored
            merged.append((pc, row))
        rows[:] = merged


def text_segments(tool, path):
    out = subprocess.run([tool, '-lW', path], capture_output=True, text=True,
                         check=True).stdout
    return [(int(r[1], 16), int(r[1], 16) + int(r[2], 16)) for r in re.finditer(
        r'LOAD +0x[0-9a-f]+ 0x([0-9a-f]+) 0x[0-9a-f]+ 0x[0-9a-f]+ 0x([0-9a-f]+) R?W? ?E',
        out)]


def expectations(fdes, m, entry, segments, every):
    """[(address, (cfa, cfa_off, save, save_off))], where FDEs overlap the first has it; and
    which of the addresses lie in gaps"""
    cases = []
    gaps = set()
    covered = fdes[0][0] if fdes else 0
    for i, (start, end, is_signal, rows) in enumerate(fdes):
        if end <= covered:
            continue
        gap = start - covered
        whole = any(a <= covered and start <= b for a, b in segments)
        if gap > PADDING_MAX + 1 and whole and not covered <= entry < start:
            kind = FRAME if gap >= GAP_FRAME + 1 else INVALID
            cases += [(covered, (kind, 0, 0, 0)), (start - 2, (kind, 0, 0, 0))]
            gaps.update(case[0] for case in cases[-2:])
        if is_signal:
            if gap > 0:
                cases.append((start - 1, (SIGNAL, 0, 0, 0)))
            cases.append((max(start, covered), (SIGNAL, 0, 0, 0)))
            cases.append((end - 1, (SIGNAL, 0, 0, 0)))
        else:
            for j, (pc, row) in enumerate(rows):
                first = max(pc, covered)
                last = (rows[j + 1][0] if j + 1 < len(rows) else end) - 1
                last = min(last, end - 1)
                if first > last or row['CFA'] is None:
                    continue
                rule = want(row, m)
                if every:
                    addresses = range(first, last + 1)
                else:
                    addresses = sorted({first, (first + last) // 2, last})
                cases += [(a, rule) for a in addresses]
        # The byte before a signal trampoline is its own.
        if i + 1 < len(fdes) and fdes[i + 1][2] and fdes[i + 1][0] > end:
            cases = [c for c in cases if c[0] != fdes[i + 1][0] - 1]
        covered = end
    return cases, gaps


def entry_of(path):
    with open(path, 'rb') as f:
        return int.from_bytes(f.read(32)[24:32], 'little')


def check(tool, readelf, table_info, path, every):
    section = '--eh-frame'
    m, fdes = read_dump(tool, path, section)
    if not fdes:
        m, fdes = read_dump(tool, path, '--debug-frame')
    merge(fdes, read_cfas(readelf, path))
    cases, gaps = expectations(fdes, m, entry_of(path), text_segments(readelf, path), every)
    out = subprocess.run([table_info, '-q', path], capture_output=True, text=True,
                         check=True, input='\n'.join(f'{a:x}' for a, _ in cases)).stdout
    got = [tuple(int(n) for n in line.split()) for line in out.splitlines()]
    bad = 0
    if len(got) != len(cases) or not cases:
        print(f'{path}: {len(got)} answers for {len(cases)} addresses')
        return False
    for (address, rule), answer in zip(cases, got):
        if answer != (1, *rule) and not (address in gaps and answer[3] & CHECKED):
            bad += 1
            if bad <= 10:
                print(f'{path}: {address:#x}: {answer}, not {(1, *rule)}')
    print(f'{path}: {len(fdes)} FDEs, {len(cases)} addresses, {bad} wrong')
    return bad == 0


def main():
    args = sys.argv[1:]
    tool = shutil.which('llvm-dwarfdump-14') or shutil.which('llvm-dwarfdump')
    readelf = shutil.which('readelf')
    if not tool or not readelf:
        print('SKIP: no llvm-dwarfdump or readelf')
        return 77
    table_info = args.pop(0)
    every = args[0] == '--every'
    paths = args[1:] if every else args
    if paths == ['--system']:
        paths = [p for p in SYSTEM if os.path.exists(p)]
        if not paths:
            print('SKIP: none of the system libraries is there')
            return 77
    return 0 if all([check(tool, readelf, table_info, p, every) for p in paths]) else 1


if __name__ == '__main__':
    sys.exit(main())
