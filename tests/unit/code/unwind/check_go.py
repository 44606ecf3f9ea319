#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compare our tables of Go programs with the .debug_frame that Go's linker wrote.

check_go.py TABLE_INFO

Builds a small program for x86-64 and aarch64. Every address of every function must have the CFA of
.debug_frame. Exceptions are listed here by name: functions at the root of a stack, the signal
trampoline, and functions that switch stacks. Go's calling convention gives the place of the
caller's frame pointer. Exit 77: a tool is missing.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from check_table import INVALID, SIGNAL, SP, STOP, read_dump

FRAME_SWITCH = 12

PROGRAM = '''package main

import (
	"fmt"
	"os"
)

func main() { fmt.Println("hello", os.Args) }
'''

TOP = re.compile(r'runtime\.(goexit|mstart|rt0_go|mcall)(\.abi0)?$|_rt0_')
SIGNAL_NAME = re.compile(r'runtime\.sigreturn')
# They set SP to another stack's, or to one for a call of the vDSO.
SWITCHES = re.compile(
    r'(runtime\.)?(systemstack|asmcgocall|cgocallback|morestack|morestack_noctxt|gogo|'
    r'nanotime1|walltime|vgetrandom1|callCgoMmap|callCgoMunmap|callCgoSigaction|sigfwd|'
    r'switchToCrashStack0)(\.abi0)?$|time\.now$')
# They have no frame of their own, and leave the stack they are called on.
ALWAYS = re.compile(r'runtime\.(morestack|gogo)(\.abi0)?$')
# On aarch64 the runtime puts 16 bytes between it and what it interrupts, which .debug_frame
# does not say (sigctxt.pushCall).
INJECTED = re.compile(r'runtime\.(asyncPreempt|sigpanic0?)(\.abi0)?$')
SP_EXACT = 1
INJECTED_BYTES = 16
SAVE_OFF_MAX = 32767


def build(folder, arch):
    path = os.path.join(folder, f'hello-{arch}')
    env = os.environ | {'GOARCH': arch, 'GOOS': 'linux', 'CGO_ENABLED': '0',
                        'GOFLAGS': '-mod=mod', 'GOTOOLCHAIN': 'local'}
    subprocess.run(['go', 'build', '-ldflags=-compressdwarf=false', '-o', path, '.'],
                   cwd=folder, env=env, check=True)
    return path


def names(path):
    out = subprocess.run(['readelf', '-sW', path], capture_output=True, text=True,
                         check=True).stdout
    return {int(r[1], 16): r[2] for r in re.finditer(
        r': ([0-9a-f]{16}) +\d+ FUNC .* (\S+)$', out, re.M)}


def want_saves(offset, is_arm, below):
    if is_arm:
        return {(0, 0)} if offset == 0 else {(3, -below - offset - 8)}
    return {(0, 0)} if offset == 8 else {(1, -16)}


def check(table_info, path):
    m, fdes = read_dump('llvm-dwarfdump-14', path, '--debug-frame')
    symbols = names(path)
    cases = []
    for start, end, _, rows in fdes:
        for i, (pc, row) in enumerate(rows):
            last = (rows[i + 1][0] if i + 1 < len(rows) else end) - 1
            offset = int(re.search(r'[+-]\d+$|$', row['CFA'])[0] or 0)
            cases += [(a, start, offset) for a in range(pc, last + 1, 4 if m.is_arm else 1)]
    out = subprocess.run([table_info, '-q', path], capture_output=True, text=True,
                         check=True, input='\n'.join(f'{a:x}' for a, _, _ in cases)).stdout
    got = [tuple(int(n) for n in line.split()) for line in out.splitlines()]
    assert len(got) == len(cases) and cases
    bad = 0
    listed = set()
    no_fp = set()
    for (address, start, offset), (found, cfa, cfa_off, save, save_off) in zip(cases, got):
        name = symbols.get(start, '?')
        below = INJECTED_BYTES if m.is_arm and INJECTED.match(name) else 0
        if TOP.match(name):
            ok = cfa == STOP
        elif SIGNAL_NAME.match(name):
            ok = cfa == SIGNAL
        elif ALWAYS.match(name):
            ok = cfa == FRAME_SWITCH
        elif cfa == FRAME_SWITCH:
            ok = bool(SWITCHES.match(name))
            listed.add(name)
        elif offset < (0 if m.is_arm else 8) or (m.is_arm and offset + 8 > SAVE_OFF_MAX):
            ok = cfa == INVALID
        else:
            exact = not m.is_arm and INJECTED.match(name)
            ok = cfa == SP and cfa_off == offset + below + (SP_EXACT if exact else 0)
            if (save, save_off) not in want_saves(offset, m.is_arm, below):
                # Of assembly only, which need not keep it where compiled code does.
                ok = ok and not m.is_arm and (save, save_off) == (0, 0)
                no_fp.add(name)
        if not ok or not found:
            bad += 1
            if bad <= 20:
                print(f'{path}: {address:#x} {name}: {(cfa, cfa_off, save, save_off)}, '
                      f'CFA at {offset}')
    if len(no_fp) * 50 > len(fdes):
        print(f'{path}: too many functions without a frame pointer: {sorted(no_fp)}')
        bad += 1
    print(f'{os.path.basename(path)}: {len(fdes)} functions, {len(cases)} addresses, {bad} '
          f'wrong; by frame pointer: {sorted(listed)}; frame pointer unsaved: {sorted(no_fp)}')
    return bad == 0


def main():
    if not all(shutil.which(t) for t in ('go', 'llvm-dwarfdump-14', 'readelf')):
        print('SKIP: no go, llvm-dwarfdump-14 or readelf')
        return 77
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, 'main.go'), 'w', encoding='utf-8') as f:
            f.write(PROGRAM)
        with open(os.path.join(folder, 'go.mod'), 'w', encoding='utf-8') as f:
            f.write('module hello\n\ngo 1.21\n')
        return 0 if all([check(sys.argv[1], build(folder, a)) for a in ('amd64', 'arm64')]) else 1


if __name__ == '__main__':
    sys.exit(main())
