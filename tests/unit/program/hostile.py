# SPDX-License-Identifier: Apache-2.0
"""Makes hostile recordings, and lists what the commands must not print from them."""
import re
import struct
import unicodedata


def varint(n):
    n &= (1 << 64) - 1
    out = b''
    while n > 0x7f:
        out += bytes([n & 0x7f | 0x80])
        n >>= 7
    return out + bytes([n])


def number(field, n):
    return varint(field << 3) + varint(n)


def piece(field, data):
    data = data.encode('utf-8', 'surrogateescape') if isinstance(data, str) else data
    return varint(field << 3 | 2) + varint(len(data)) + data


def numbers(field, values):
    return piece(field, b''.join(varint(n) for n in values))


class Table(list):
    """Entries by number; entry 0 is none."""

    def __init__(self):
        super().__init__([b''])
        self.added = {b'': 0}

    def add(self, entry):
        if entry not in self.added:
            self.added[entry] = len(self)
            self.append(entry)
        return self.added[entry]


class Request:
    """An ExportProfilesServiceRequest of one process and one profile."""

    def __init__(self, **resource):
        self.strings, self.functions, self.mappings, self.locations, self.attributes, self.stacks = (
            Table() for _ in range(6))
        self.resource = {'process.executable.name': 'prog', 'process.pid': 42}
        self.resource.update(resource)
        self.samples = []
        self.type = ('samples', 'count', 'cpu', 'nanoseconds', 10000000)

    def string(self, text):
        return self.strings.add(text.encode('utf-8', 'surrogateescape'))

    def attribute(self, key, value):
        value = number(3, value) if isinstance(value, int) else piece(1, value)
        return self.attributes.add(number(1, self.string(key)) + piece(2, value))

    def frame(self, name='', file='', start=0, line=0, module='', kind='native', build_id=''):
        """The number of a location."""
        out = b''
        if module:
            about = number(4, self.string(module))
            if build_id:
                about += numbers(5, [self.attribute('process.executable.build_id.gnu', build_id)])
            out += number(1, self.mappings.add(about)) + number(2, 0x1000)
        if name:
            f = number(1, self.string(name)) + number(3, self.string(file)) + number(4, start)
            out += piece(3, number(1, self.functions.add(f)) + number(2, line))
        return self.locations.add(out + numbers(4, [self.attribute('profile.frame.type', kind)]))

    def sample(self, frames, value=1, attributes=(), times=()):
        """@frames: the leaf first. @times: in ns since 1970."""
        stack = self.stacks.add(numbers(1, frames))
        self.samples.append(number(1, stack) + numbers(2, [self.attribute(*a) for a in attributes]) +
                            numbers(4, [value]) +
                            (piece(5, struct.pack(f'<{len(times)}Q', *times)) if times else b''))

    def dictionary(self):
        tables = (self.mappings, self.locations, self.functions, [b''], self.strings,
                  self.attributes, self.stacks)
        return b''.join(piece(i + 1, entry) for i, table in enumerate(tables) for entry in table)

    def encode(self):
        kind = [self.string(text) for text in self.type[:4]]
        profile = piece(1, number(1, kind[0]) + number(2, kind[1]))
        profile += b''.join(piece(2, s) for s in self.samples)
        profile += varint(3 << 3 | 1) + struct.pack('<Q', 1700000000 * 10**9) + number(4, 10**9)
        profile += piece(5, number(1, kind[2]) + number(2, kind[3])) + number(6, self.type[4])
        resource = b''
        for key, value in self.resource.items():
            value = number(3, value) if isinstance(value, int) else piece(1, value)
            resource += piece(1, piece(1, key) + piece(2, value))
        return piece(1, piece(1, resource) + piece(2, piece(2, profile))) + \
            piece(2, self.dictionary())

    def write(self, path):
        with open(path, 'wb') as f:
            f.write(recording(self.encode()))
        return path


def recording(request):
    return struct.pack('>I', len(request)) + request


# Names that any process may choose; those of UTF-8 in surrogates are none.
NAMES = ['\x1b]0;PWNED\x07', '\x1b[2J', 'a\nb\rc\td', '\x7f', '\x9b31m', '\udc9b31m', '\udcff\udcfe',
         'x\u202egnp.exe', '\u2066a\u2069', 'a\u200bb', 'a\u2028b\u2029c', '\ufeffa', 'a\U000e0041',
         '</script><script>alert(1)</script>', '<img src=x onerror=alert(1)>', '`|`', '[a](b)', '&lt;',
         '# h', 'A' * 65536, '%s%n', "'\"\\", ' ', '$(id)', '; rm', '/../..', 'null']


def complaint(out, allowed='\n'):
    """What in the bytes @out a terminal or a reader must not get, or None."""
    try:
        text = out.decode()
    except UnicodeDecodeError as e:
        return f'no UTF-8: {out[e.start - 20:e.end + 20]}'
    for c in set(text):
        if c not in allowed and unicodedata.category(c) in ('Cc', 'Cf', 'Zl', 'Zp', 'Cn', 'Cs'):
            at = text.index(c)
            return f'U+{ord(c):04X} in {text[max(at - 20, 0):at + 20]!r}'
    return None


def markup(text):
    """What in Markdown is neither the program's own nor code, or None."""
    for line in text.split('\n'):
        if line.count('`') % 2:
            return line
        found = re.search(r'[<>\[\]&]|\|.*\bA{100}', re.sub(r'`[^`]*`| > |\(> ', '', line))
        if found:
            return line
        if line.startswith('| ') and '%' in line and line.count('|') not in (4, 6):
            return line
    return None
