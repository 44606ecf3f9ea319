# SPDX-License-Identifier: Apache-2.0
"""The page in a browser, on the ten events of tests/unit/program/request.h.

usage: test_page.py PROGRAM    (the one linked with fake_otelprof.c)

One Chromium is started for all; what a page shows is read from its document, and the colours of
the graph from its pixels. Skipped (77) without chromium.
"""
import base64
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import unittest
from collections import Counter
from urllib.parse import quote

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, '..'), os.path.join(HERE, '../../../live/framework')]
import otlp  # noqa: E402
from browser import CHROMIUM, Chromium  # noqa: E402
from hostile import Request, recording  # noqa: E402

PROGRAM = os.path.abspath(sys.argv[1])
EVIL = "</script><img src=x onerror=document.title='pwned'>"
BROWSER = None
ROW = 20


class Page(unittest.TestCase):
    """cls.page is open; each test begins with a link."""
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.dir.cleanup)
        cls.page = cls.make()
        BROWSER.open(cls.page)

    def tearDown(self):
        self.assertEqual((BROWSER.errors, BROWSER.requests[1:]), ([], []))

    @classmethod
    def path(cls, name):
        return os.path.join(cls.dir.name, name)

    @classmethod
    def record(cls, name, mode=''):
        subprocess.run([PROGRAM, 'record', '-d', '0.1', '-o', cls.path(name)], check=True,
                       stderr=subprocess.DEVNULL, env={**os.environ, 'FAKE_OTELPROF': mode})
        return cls.path(name)

    @classmethod
    def convert(cls, request):
        subprocess.run([PROGRAM, 'convert', '-o', cls.path('a.html'), request.write(cls.path('a.otlp'))],
                       check=True, stderr=subprocess.DEVNULL)
        return cls.path('a.html')

    def text(self, element):
        return re.sub(r'\s+', ' ', BROWSER.text(element))

    def search(self, words, more=''):
        BROWSER.go(f'q={quote(words)}{more}')
        return self.text('matched')

    def rows(self, more=''):
        BROWSER.go('view=table&hide=0' + more)
        return BROWSER.js('[...document.querySelectorAll("#rows tr")].map(r => [...r.children].map(c => c.textContent))')

    def link(self):
        return BROWSER.js('location.hash')

    def pixel(self, x, row):
        """Of the graph, away from the text of a row."""
        return tuple(BROWSER.js(f'''(c => {{ const k = c.width / c.clientWidth;
            return [...c.getContext("2d").getImageData({x} * k, ({row} * {ROW} + 3) * k, 1, 1).data].slice(0, 3); }})
            (document.getElementById("graph"))'''))

    def width(self):
        return BROWSER.box('graph')[2]


class Canned(Page):
    @classmethod
    def make(cls):
        return cls.record('profile.html')

    def test_names_stay_names(self):
        self.assertIn(EVIL, [r[4] for r in self.rows()])
        BROWSER.go('view=sandwich&function=' + quote(EVIL))
        self.assertIn(EVIL, self.text('crumbs'))
        self.assertEqual(BROWSER.js('document.querySelectorAll("img").length'), 0)
        self.assertNotEqual(BROWSER.js('document.title'), 'pwned')

    def test_nothing_comes_from_elsewhere(self):
        with open(self.page, encoding='utf-8') as f:
            page = f.read()
        self.assertEqual(re.findall(r'(?:src|href)="[^"]*"|@import|url\(', page), [])
        self.assertEqual([u for u in re.findall(r'https?://[^\'" ]*', page)],
                         ['http://www.w3.org/2000/svg'])
        self.assertIn("default-src 'none'", page)

    def test_heading_and_legend(self):
        BROWSER.go('hide=0')
        self.assertIn('web, python, … (3 processes)', self.text('title'))
        self.assertIn('CPU time', BROWSER.js('document.title'))
        for words in ('CPU time · 100.0 ms · 10 samples · 100 Hz · over 1.00 s', '2023-11-14 22:13:20 UTC'):
            self.assertIn(words, self.text('summary'))
        self.assertEqual(self.text('quality'), '100.0% of the stacks are whole, none of the samples were lost')
        for words in ('native 40.00%', 'Python 40.00%', 'kernel 20.00%'):
            self.assertIn(words, self.text('legend'))

    def test_answer(self):
        """The charged function, and the line that is hot, not the one where it begins."""
        BROWSER.go('')
        self.assertIn('100.0 ms of CPU time in 1.00 s: 0.10 CPUs busy, 3 processes · your code 90%', self.text('answer-title'))
        rows = BROWSER.js('[...document.querySelectorAll("#own li")].map(r => r.textContent)')
        self.assertRegex(rows[0], r'^40\.00% ±30\s*40\.0 mswork few samplesapp\.py:12$')
        self.assertRegex(rows[1], r'^30\.00% ±28\s*30\.0 msparse few samplesparse\.h:7$')
        # what the kernel does goes to its caller
        self.assertRegex(rows[2], r'^20\.00% ±25\s*20\.0 mshandle few samplesweb\.c:30$')

    def test_search_takes_text_as_it_stands(self):
        # main stands on 9 of 10 stacks
        for words, more, share in (
                ('main', '', '90.00%'), ('(int)', '', '0.00%'), ('^main$', '', '0.00%'), ('a;b', '', '10.00%'),
                ("onerror=document.title='pwned'>", '', '10.00%'), ('KSYS', '', '0.00%'), ('ksys', '', '20.00%'),
                ('app.py', '', '40.00%'), ('vmlinux', '', '20.00%'), ('^main$', '&regex=1', '90.00%'),
                ('handle|parse', '&regex=1', '50.00%'), ('handle|parse', '', '0.00%')):
            with self.subTest(words=words, more=more):
                self.assertEqual(self.search(words, more + '&hide=0'), 'matched ' + share)
        self.assertEqual(self.search('(', '&regex=1'), 'not a regular expression')
        self.assertEqual(self.search('('), 'matched 0.00%')

    def test_matches_are_walked(self):
        BROWSER.go('hide=0')
        BROWSER.key('/')
        BROWSER.type('a')
        # the outermost: main in two processes, EVIL and a;b is one
        BROWSER.key('Enter')
        self.assertIn('1 of 3', self.text('matched'))
        BROWSER.js('document.activeElement.blur()')
        BROWSER.key('n')
        self.assertIn('2 of 3', self.text('matched'))
        BROWSER.key('N')
        BROWSER.key('N')
        self.assertIn('3 of 3', self.text('matched'))
        self.assertIn('q=a', self.link())

    def test_process_filter(self):
        self.assertEqual(self.search('ksys', '&process=web&hide=0'), 'matched 40.00%')
        rows = self.rows('&process=python')
        self.assertEqual([(r[0], r[2], r[4]) for r in rows],
                         [('40.0 ms', '40.0 ms', 'work'), ('0 s', '40.0 ms', '<module>'), ('0 s', '40.0 ms', 'main')])

    def test_table(self):
        rows = self.rows()
        self.assertEqual(rows[0], ['40.0 ms', '40.00%', '40.0 ms', '40.00%', 'work', 'app.py:12', 'Python', ''])
        self.assertEqual([(r[0], r[2], r[4]) for r in rows[1:4]],
                         [('30.0 ms', '30.0 ms', 'parse'), ('20.0 ms', '20.0 ms', 'ksys_read'), ('10.0 ms', '10.0 ms', 'a;b')])
        self.assertEqual([r[4] for r in self.rows('&q=eb.c')], ['handle'])

    def test_thread_filter(self):
        self.assertTrue(BROWSER.shown('thread'))
        rows = self.rows('&thread=worker')
        self.assertEqual({r[4]: r[2] for r in rows},
                         {'main': '50.0 ms', 'handle': '50.0 ms', 'parse': '30.0 ms', 'ksys_read': '20.0 ms'})
        self.assertEqual([r[4] for r in self.rows('&thread=200')], ['work', '<module>', 'main'])

    def test_hidden_frames_give_their_time_to_their_callers(self):
        BROWSER.go('process=web&hide=1&view=table')
        names = BROWSER.js('[...document.querySelectorAll("#rows tr")].map(r => [...r.children].map(c => c.textContent))')
        self.assertEqual({r[4]: r[0] for r in names}, {'parse': '30.0 ms', 'handle': '20.0 ms', 'main': '0 s'})

    def test_sandwich(self):
        """Callers above, callees below, all of the chosen function's value."""
        BROWSER.go('view=sandwich&function=handle&hide=0')
        width = self.width()
        self.assertEqual(self.text('crumbs'), 'handle')
        wide = {}
        for row in range(4):
            BROWSER.mouse('mouseMoved', BROWSER.box('graph')[0] + width * 0.3, BROWSER.box('graph')[1] + row * ROW + 8)
            BROWSER.frame()
            wide[row] = BROWSER.js('document.querySelector("#tip b").textContent + " " + document.querySelector("#tip dd").textContent')
        self.assertEqual(wide, {0: 'web 50.0 ms, 50.00% ±31, 5 samples', 1: 'main 50.0 ms, 50.00% ±31, 5 samples',
                                2: 'handle 50.0 ms, 50.00% ±31, 5 samples', 3: 'parse 30.0 ms, 30.00% ±28, 3 samples'})
        BROWSER.key('Escape')
        self.assertNotIn('sandwich', self.link())

    def test_sandwich_by_key_and_from_the_table(self):
        BROWSER.go('view=table&hide=0')
        BROWSER.js('[...document.querySelectorAll("#rows button")].find(b => b.textContent === "parse").click()')
        BROWSER.frame()
        self.assertIn('view=sandwich&function=parse', self.link())
        BROWSER.go('hide=0')
        BROWSER.js('document.getElementById("graph").focus()')
        for _ in range(3):
            BROWSER.key('ArrowDown')
        self.assertIn('handle — total 50.0 ms', self.text('status'))
        BROWSER.key('s')
        self.assertIn('function=handle', self.link())

    def test_a_name_is_copied(self):
        BROWSER.go('view=sandwich&function=handle')
        BROWSER.key('c')
        BROWSER.js('new Promise(r => setTimeout(r, 50))')
        self.assertEqual(self.text('status'), 'Copied: handle')

    def test_times(self):
        """The events of a process are a microsecond apart: all are in the first bins of one second."""
        BROWSER.go('hide=0')
        self.assertTrue(BROWSER.shown('times'))
        x, _, width, _ = BROWSER.box('times')
        BROWSER.drag('times', width * 0.5, width * 0.8, 10)
        self.assertTrue(BROWSER.shown('empty'))
        self.assertRegex(self.link(), r'time=5\d\d-80\d')
        BROWSER.drag('times', 0, width * 0.2, 10)
        self.assertFalse(BROWSER.shown('empty'))
        self.assertIn('10 samples', self.text('summary'))
        BROWSER.click('all-times')
        self.assertNotIn('time=', self.link())

    def test_timeline(self):
        BROWSER.go('view=timeline')
        self.assertTrue(BROWSER.shown('threads'))
        BROWSER.click('threads', 20, 12)
        self.assertIn('thread=101', self.link())
        self.assertIn('50.0 ms · 5 samples', self.text('summary'))
        BROWSER.click('threads', 20, 12)
        self.assertNotIn('thread', self.link())

    def test_link_is_written_and_read(self):
        BROWSER.go('hide=0')
        x, y, width, _ = BROWSER.box('graph')
        BROWSER.click('graph', width * 0.3, 3 * ROW + 8)
        link = self.link()
        self.assertIn('zoom=', link)
        self.assertIn('handle', self.text('crumbs'))
        BROWSER.go('')
        self.assertEqual(self.text('crumbs'), 'all')
        BROWSER.go(link[1:])
        self.assertIn('handle', self.text('crumbs'))

    def test_links_of_strangers(self):
        for link in ('kind=x&view=x&process=x&thread=x&trace=x&q=x&hide=x&side=x&colour=x', 'zoom=9.x.%25.p', 'time=9-1',
                     'time=0-99999999999999', 'view=sandwich&function=', 'view=sandwich&function=__proto__',
                     'q=%28&regex=1&view=table', 'zoom=%', '%', 'view=timeline&trace=constructor'):
            with self.subTest(link=link):
                BROWSER.go(link)
                self.assertEqual(BROWSER.errors, [])
        BROWSER.go('')
        self.assertEqual(self.text('crumbs'), 'all')

    def test_controls_have_names(self):
        unnamed = BROWSER.js('''[...document.querySelectorAll("button, select, input, canvas, [role]")].filter(e =>
            !(e.getAttribute("aria-label") || e.textContent.trim() || (e.labels && e.labels.length))).map(e => e.id)''')
        self.assertEqual([x for x in unnamed if x not in ('matched', 'status', 'tip')], [])

    def test_what_a_screen_reader_is_told(self):
        """The tree of accessibility has the title, the choices with their states, the answer, and where one is."""
        BROWSER.go('hide=0')

        def nodes():
            return [(n['role']['value'], n.get('name', {}).get('value', ''),
                     {p['name']: p['value'].get('value') for p in n.get('properties', [])})
                    for n in BROWSER.call('Accessibility.getFullAXTree')['nodes'] if not n['ignored']]

        found = nodes()
        has = {(role, name) for role, name, _ in found}
        for wanted in ('heading', self.text('title')), ('button', 'Flame graph'), ('button', 'Table'), \
                ('searchbox', 'Search for a function, file or module'), ('toolbar', 'View'), ('search', ''), \
                ('button', 'The next match'), ('button', 'Callers'), ('button', 'SVG'), ('navigation', 'Zoom'):
            self.assertIn(wanted, has)
        self.assertEqual([(r, n) for r, n in has if r in ('button', 'combobox', 'searchbox', 'slider', 'application')
                          and not n], [])
        graph = next(p for r, n, p in found if r == 'application')
        self.assertTrue(graph['focusable'])
        self.assertTrue(any(r == 'button' and n == 'work' for r, n, _ in found))  # a row of the answer
        self.assertEqual(next(p['pressed'] for r, n, p in found if (r, n) == ('button', 'Flame graph')), 'true')
        # What the keyboard chooses is told, politely.
        BROWSER.js('document.getElementById("graph").focus()')
        BROWSER.key('ArrowDown')
        told = self.text('status')
        self.assertRegex(told, r'web.*50\.00%')
        self.assertIn(('status', 'polite'), {(r, p.get('live')) for r, n, p in nodes()})

    def test_all_by_keyboard(self):
        """Tab comes to each control that is shown, in the order of the page, and to the graph."""
        BROWSER.open(self.page, 'hide=0')
        BROWSER.js('document.activeElement.blur(), document.body.focus()')
        wanted = BROWSER.js('''[...document.querySelectorAll("button, select, input, canvas, summary")].filter(e =>
            e.checkVisibility({ visibilityProperty: true }) && !e.disabled && e.tabIndex >= 0).map(e => e.tagName + "#" + e.id + e.textContent)''')
        seen = []
        for _ in range(len(wanted) + 5):
            BROWSER.call('Input.dispatchKeyEvent', type='keyDown', key='Tab', windowsVirtualKeyCode=9)
            BROWSER.call('Input.dispatchKeyEvent', type='keyUp', key='Tab', windowsVirtualKeyCode=9)
            at = BROWSER.js('''(e => e === document.body ? "" : [...document.querySelectorAll("*")].indexOf(e) + " " + e.tagName + "#" + e.id + e.textContent)
                (document.activeElement)''')
            if at and at not in seen:
                seen.append(at)
        names = [x.split(' ', 1)[1] for x in seen]
        self.assertEqual([x for x in wanted if x not in names], [])
        self.assertIn('CANVAS#graph', names)
        self.assertIn('INPUT#search', names)
        numbers = [int(x.split(' ')[0]) for x in seen]
        turn = numbers.index(min(numbers))
        self.assertEqual(numbers[turn:] + numbers[:turn], sorted(numbers))

    def test_print(self):
        """What is printed: title, answer and the graph as a drawing, on white, and no controls."""
        BROWSER.go('hide=0')
        pdf = base64.b64decode(BROWSER.call('Page.printToPDF', landscape=True)['data'])
        self.assertTrue(pdf.startswith(b'%PDF-'))
        self.assertLess(len(re.findall(rb'/Type\s*/Page\b', pdf)), 3)
        BROWSER.call('Emulation.setEmulatedMedia', media='print')
        try:
            BROWSER.js('dispatchEvent(new Event("beforeprint"))')
            self.assertTrue(BROWSER.shown('title'))
            self.assertTrue(BROWSER.shown('own'))
            self.assertTrue(BROWSER.shown('print'))
            self.assertFalse(BROWSER.shown('search'))
            self.assertFalse(BROWSER.shown('graph'))
            self.assertIn('work', BROWSER.js('document.querySelector("#print svg").textContent'))
            self.assertEqual(BROWSER.js('getComputedStyle(document.body).backgroundColor'), 'rgb(255, 255, 255)')
        finally:
            BROWSER.js('dispatchEvent(new Event("afterprint"))')
            BROWSER.call('Emulation.setEmulatedMedia', media='')

    def test_drawing(self):
        """The saved drawing has each name as text, and nothing that runs."""
        BROWSER.go('hide=0')
        svg = BROWSER.js('''(async () => { let got; const make = URL.createObjectURL;
            URL.createObjectURL = b => (got = b, make.call(URL, b)); document.getElementById("save-svg").click();
            URL.createObjectURL = make; return await got.text(); })()''')
        self.assertTrue(svg.startswith('<svg '))
        self.assertIn('&lt;/script&gt;&lt;img src=x', svg)
        self.assertNotIn('<img', svg)
        self.assertNotIn('<script', svg)


class Command(Page):
    """What was typed is the title, as text; and what was lost is said."""
    @classmethod
    def make(cls):
        subprocess.run([PROGRAM, 'record', '-o', cls.path('a.html'), '--', 'sh', '-c', 'sleep 0.1 # ' + EVIL],
                       check=True, stderr=subprocess.DEVNULL)
        return cls.path('a.html')

    def test_heading(self):
        BROWSER.go('kind=cpu')
        self.assertTrue(self.text('title').startswith('sh -c sleep 0.1 # ' + EVIL), self.text('title'))
        self.assertIn('100.0% of the stacks are whole, none of the samples were lost', self.text('quality'))


class Kinds(Page):
    """Four types of samples: each has its unit, and colours that are not the CPUs'."""
    @classmethod
    def make(cls):
        return cls.record('kinds.html', 'kinds')

    def test_unit_and_colours(self):
        hues = {}
        for link, summary, share in (
                ('', 'CPU time · 100.0 ms', None), ('kind=off_cpu', 'Off CPU · 1.00 s', '75.00%'),
                ('kind=alloc_space/bytes', 'Allocated · 12.0 MiB', '75.00%'),
                ('kind=contentions', 'Lock waits, number · 4', '75.00%')):
            with self.subTest(link=link):
                BROWSER.go(link)
                self.assertIn(summary, self.text('summary'))
                hues[link] = self.pixel(self.width() * 0.4, 2 if not link else 1)
                rows = {r[4]: r for r in self.rows('&' + link)}
                if share:
                    self.assertIn(share, rows['outer'])
        self.assertEqual(len(set(hues.values())), 4, hues)

    def test_the_word_of_record_is_a_kind(self):
        for word, name in (('heap', 'Allocated'), ('cpu', 'CPU time'), ('off_cpu', 'Off CPU')):
            BROWSER.go('kind=' + word)
            self.assertEqual(BROWSER.js('document.querySelector("#kinds [aria-selected=true]").textContent'), name)

    def test_one_bar_of_kinds(self):
        BROWSER.go('')
        self.assertEqual(BROWSER.js('[...document.querySelectorAll("#kinds > *")].map(e => e.textContent)'),
                         ['CPU', 'CPU time', 'Waits', 'Off CPU', 'Lock waits, number', 'Memory', 'Allocated'])
        BROWSER.js('document.querySelector("#kinds button").focus()')
        BROWSER.key('ArrowRight')
        self.assertIn('kind=off_cpu', self.link())
        self.assertEqual(BROWSER.js('document.querySelector("#kinds [aria-selected=true]").textContent'), 'Off CPU')


class Guessed(Page):
    @classmethod
    def make(cls):
        return cls.record('guessed.html', 'guessed')

    def test_share_is_said(self):
        self.assertIn('30.0% go by a guess', self.text('quality'))


class Traces(Page):
    @classmethod
    def make(cls):
        return cls.record('traces.html', 'traced')

    def test_one_trace(self):
        BROWSER.go('')
        self.assertEqual(BROWSER.js('[...document.querySelectorAll("#trace option")].map(o => o.textContent)'),
                         ['All samples', 'ab' * 16 + ' — 40.00%', 'no trace — 40.00%', 'cd' * 16 + ' — 20.00%'])
        BROWSER.go('trace=' + 'ab' * 16)
        self.assertIn('40.0 ms · 4 samples', self.text('summary'))
        self.assertIn('trace=' + 'ab' * 16, self.link())


class Data(unittest.TestCase):
    """What the page has is what the reader of tests/live/framework finds in the recording."""
    def embedded(self, page, element):
        return json.loads(re.search(rf'id="{element}">(.*?)</script>', page, re.S).group(1))

    def check(self, mode):
        with tempfile.TemporaryDirectory() as folder:
            files = [os.path.join(folder, name) for name in ('a.otlp', 'a.html')]
            for path in files:
                subprocess.run([PROGRAM, 'record', '-d', '0.1', '-o', path], check=True, stderr=subprocess.DEVNULL,
                               env={**os.environ, 'FAKE_OTELPROF': mode})
            capture = otlp.read_file(files[0])
            with open(files[1], encoding='utf-8') as f:
                page = f.read()
        data, moments = self.embedded(page, 'profile'), self.embedded(page, 'moments')
        strings, functions = data['strings'], data['functions']
        kinds = [(strings[k[0]], strings[k[1]]) for k in data['kinds']]
        wanted, lines = Counter(), Counter()
        for s in capture.samples:
            value, kind = sum(s.values) or len(s.timestamps), tuple(s.sample_type)
            trace = s.link[0] if s.link else '0' * 32
            wanted[kind, s.pid, s.attributes.get('thread.id', -1), trace, tuple(f.name for f in s.frames)] += value
            for place in {(f.name, f.line) for f in s.frames if f.line}:
                lines[(kind, *place)] += value
        found, selfs = Counter(), Counter()
        for number, tree in enumerate(data['trees']):
            path, stacks, pid, left = [], [], data['processes'][tree['p']][0], iter(tree['f'])
            for nodes, depth, value in zip(tree['n'], tree['d'], tree['s']):
                for at in range(depth, depth + nodes):
                    path = path[:at] + [strings[functions[next(left)][0]]]
                    stacks.append(tuple(reversed(path)))
                selfs[kinds[tree['k']], pid, stacks[-1]] += value
            self.assertEqual(list(left), [])
            node = 0
            for e in (x for x in moments['trees'] if x['tree'] == number):
                for i in range(e['len']):
                    value, thread, trace = (e[c] if isinstance(e[c], int) else e[c][i] for c in 'vtx')
                    node += e['n'][i]
                    found[kinds[tree['k']], pid, moments['threads'][thread][1], moments['traces'][trace], stacks[node]] += value
        self.assertEqual(found, wanted)
        of_stacks = Counter()
        for (kind, pid, _, _, stack), value in wanted.items():
            of_stacks[kind, pid, stack] += value
        self.assertEqual(+selfs, of_stacks)
        rows = [data['lines'][i:i + 5] for i in range(0, len(data['lines']), 5)]
        self.assertEqual({(kinds[k], strings[functions[f][0]], line): total for k, f, line, total, _ in rows}, lines)

    def test_modes(self):
        for mode in ('', 'later', 'traced', 'deep'):
            with self.subTest(mode=mode):
                self.check(mode)


class Gap(Page):
    """Two recordings a minute apart: between them is nothing, and the page says so."""
    @classmethod
    def make(cls):
        requests = []
        for start in (1700000000, 1700000060):
            q = Request()
            q.sample([q.frame('f')], 100)
            requests.append(recording(q.encode().replace(struct.pack('<Q', 1700000000 * 10**9), struct.pack('<Q', start * 10**9))))
        with open(cls.path('a.otlp'), 'wb') as f:
            f.write(b''.join(requests))
        subprocess.run([PROGRAM, 'convert', '-o', cls.path('a.html'), cls.path('a.otlp')], check=True,
                       stderr=subprocess.DEVNULL)
        return cls.path('a.html')

    def test_windows(self):
        windows = BROWSER.js('JSON.parse(document.getElementById("moments").textContent).windows')
        self.assertEqual([[round(x / 1000) for x in w] for w in windows], [[0, 1], [60, 61]])

    def test_sums_of_a_window_have_no_timeline(self):
        self.assertFalse(BROWSER.shown('times'))
        self.assertFalse(BROWSER.shown('view-timeline'))


class Managed(Page):
    """Mostly Python: what is under it is left out from the start."""
    @classmethod
    def make(cls):
        q = Request()
        work, main = (q.frame(name, '/srv/app.py', 3, 5, kind='cpython') for name in ('work', 'main'))
        eval_, start = (q.frame(name, module='/usr/bin/python3.11') for name in ('_PyEval_EvalFrameDefault', 'Py_RunMain'))
        read = q.frame('ksys_read', module='vmlinux', kind='kernel')
        q.sample([read, eval_, work, eval_, main, start], 70)
        q.sample([eval_, start], 30)
        return cls.convert(q)

    def table(self, link):
        BROWSER.go('view=table' + link)
        return BROWSER.js('Object.fromEntries([...document.querySelectorAll("#rows tr")].map(r => [r.children[4].textContent, r.children[1].textContent]))')

    def test_hidden_and_shown(self):
        self.assertEqual(self.table(''), {'work': '70.00%', 'main': '0.00%', '[only runtime, C library or kernel]': '30.00%'})
        self.assertEqual(BROWSER.js('document.getElementById("hide").getAttribute("aria-pressed")'), 'true')
        self.assertEqual(self.table('&hide=0'), {'ksys_read': '70.00%', '_PyEval_EvalFrameDefault': '30.00%', 'work': '0.00%',
                                                 'main': '0.00%', 'Py_RunMain': '0.00%'})
        BROWSER.click('hide')
        self.assertNotIn('hide', self.link())

    def test_answer_says_what_is_not_own(self):
        BROWSER.go('')
        self.assertIn('your code 70%, runtime 30%', self.text('answer-title'))


class Locked(Page):
    """Threads that are in a lock at the end come before waits that ended; those of an idle pool come last."""
    @classmethod
    def make(cls):
        q = Request()
        stuck, busy, pool, main = (q.frame(name, '/srv/app.c', 1, line, module='/srv/app') for name, line in
                                   (('stuck', 20), ('busy', 30), ('pool', 40), ('main', 50)))
        lock, cond, sleep = (q.frame(name, module='/lib/x86_64-linux-gnu/libc.so.6') for name in
                             ('pthread_mutex_lock', 'pthread_cond_wait', 'nanosleep'))
        q.type = ('threads', 'count', '', '', 0)
        q.sample([lock, stuck, main], 2, [('thread.state', 'sleeping')])
        q.sample([lock, busy, main], 1, [('thread.state', 'running')])
        q.sample([cond, pool, main], 5, [('thread.state', 'sleeping')])
        threads = q.write(cls.path('threads.otlp'))
        q.samples, q.type = [], ('off_cpu', 'nanoseconds', '', '', 0)
        q.sample([sleep, busy, main], 3_000_000_000, [('off_cpu.reason', 'sleep')])
        q.sample([busy, main], 1_000_000_000, [('off_cpu.reason', 'preempted')])
        waits = q.write(cls.path('waits.otlp'))
        q.samples, q.resource = [], {'process.executable.name': 'idle', 'process.pid': 43}
        q.sample([cond, pool, main], 100_000_000_000, [('off_cpu.reason', 'futex')])
        idle = q.write(cls.path('idle.otlp'))
        q.samples, q.type = [], ('delay', 'nanoseconds', '', '', 0)
        q.sample([cond, pool, main], 9_000_000_000, [('lock.type', 'futex')])
        q.sample([lock, stuck, main], 1_000_000_000, [('lock.type', 'futex')])
        locks = q.write(cls.path('locks.otlp'))
        subprocess.run([PROGRAM, 'convert', '-o', cls.path('a.html'), waits, idle, locks, threads], check=True,
                       stderr=subprocess.DEVNULL)
        return cls.path('a.html')

    def test_locked_threads_come_first(self):
        BROWSER.go('kind=off_cpu')
        rows = BROWSER.js('[...document.querySelectorAll("#own li")].map(r => r.textContent)')
        self.assertEqual(rows[0], '2 threadsin a lock at the endstucksrv/app.c:20')
        self.assertRegex(rows[1], r'busy for sleepsrv/app\.c:30$')
        # the line is that of most of its time, not of this wait
        self.assertRegex(rows[2], r'busy for a CPU \(run queue\)srv/app\.c$')
        self.assertIn('pool for another thread, mostly idle', rows[3])
        self.assertEqual(len(rows), 4)
        BROWSER.js('document.querySelector("#own button").click()')
        BROWSER.frame()
        self.assertIn('Threads', self.text('summary'))

    def test_locks_come_before_other_waits(self):
        BROWSER.go('kind=locks')
        rows = BROWSER.js('[...document.querySelectorAll("#own li")].map(r => r.textContent)')
        rows = [r for r in rows if 'at the end' not in r]
        self.assertIn('stuck for a lock', rows[0])
        self.assertIn('pool for another thread, mostly idle', rows[1])
        self.assertEqual(len(rows), 2)


class Poor(Page):
    @classmethod
    def make(cls):
        return cls.record('poor.html', 'poor')

    def test_stacks_that_are_cut_are_told(self):
        BROWSER.go('')
        self.assertIn('50.0% of the stacks are whole', self.text('quality'))
        self.assertIn('23.1% of the samples were lost', self.text('quality'))
        self.assertTrue(BROWSER.js('document.getElementById("quality").classList.contains("bad")'))


class Long(Page):
    """Names of C++ with brackets, a match far down, and hundreds of functions."""
    @classmethod
    def make(cls):
        q = Request()
        stem = [q.frame(f'outer{i}', kind='native') for i in range(200)]
        for i in range(600):
            q.sample([q.frame(f'std::vector<T{i}>::operator[](int)', kind='native')] + stem[::-1], 1 + i % 3)
        q.sample([q.frame('deep(int)', kind='native')] + stem[::-1], 2000)
        return cls.convert(q)

    def test_a_name_with_brackets_is_found(self):
        self.assertIn('matched 0.06%', self.search('std::vector<T7>::operator[](int)'))

    def test_a_match_comes_into_view(self):
        BROWSER.go('')
        self.assertEqual(BROWSER.js('document.getElementById("scroll").scrollTop'), 0)
        BROWSER.key('/')
        BROWSER.type('deep(')
        top = BROWSER.js('document.getElementById("scroll").scrollTop')
        height = BROWSER.box('scroll')[3]
        self.assertTrue(top <= 201 * ROW <= top + height - ROW, (top, height))
        # and again by going to it
        BROWSER.js('document.getElementById("scroll").scrollTop = 0')
        BROWSER.key('Enter')
        top = BROWSER.js('document.getElementById("scroll").scrollTop')
        self.assertTrue(top <= 201 * ROW <= top + height - ROW, (top, height))
        self.assertIn('deep(int) — total', self.text('status'))
        BROWSER.key('Escape')

    def test_a_thin_match_is_zoomed_to(self):
        self.search('<T7>')
        BROWSER.click('next')
        self.assertIn('zoom=', self.link())

    def test_the_table_is_cut_and_says_so(self):
        self.assertEqual(len(self.rows()), 500)
        self.assertIn('500 of 801 functions', self.text('more'))
        self.assertEqual(len(self.rows('&q=%3CT59')), 11)


class Diff(Page):
    """The page of two recordings: of 10 samples four are in work before, of 20 fourteen after."""
    @classmethod
    def make(cls, first='before', then='after'):
        for name, mode in (('before', ''), ('after', 'later')):
            cls.record(name + '.otlp', mode)
        subprocess.run([PROGRAM, 'diff', '-o', cls.path(first + '.html'), cls.path(first + '.otlp'),
                        cls.path(then + '.otlp')], check=True)
        return cls.path(first + '.html')

    def test_what_changed_most_comes_first(self):
        """Self, its share, total, its share, the changes of both shares, name."""
        rows = [r[:7] for r in self.rows()]
        self.assertEqual(rows[0], ['140.0 ms', '70.00%', '140.0 ms', '70.00%', '+30.00 points', '+30.00 points', 'work'])
        self.assertEqual({r[6]: r[5] for r in rows}, {
            'work': '+30.00 points', '<module>': '+30.00 points', 'main': '+5.00 points',
            'handle': '−25.00 points', 'parse': '−15.00 points', 'ksys_read': '−10.00 points',
            EVIL: '−5.00 points', 'a;b': '−5.00 points'})
        selfs = {r[6]: r[4] for r in rows}
        self.assertEqual((selfs['main'], selfs['parse'], selfs['handle']), ('+0.00 points', '−15.00 points', '+0.00 points'))

    def test_the_first_screen_names_what_changed(self):
        BROWSER.go('')
        rows = BROWSER.js('[...document.querySelectorAll("#own li")].map(r => [...r.children].map(c => c.textContent))')
        self.assertEqual(rows[0][:3], ['+30.00 points', '40.00% → 70.00%', 'work'])
        self.assertEqual(rows[1][:3], ['−15.00 points', '30.00% → 15.00%', 'parse'])

    def test_before(self):
        row = next(r for r in self.rows('&side=before') if r[6] == 'work')
        self.assertEqual(row[:6], ['40.0 ms', '40.00%', '40.0 ms', '40.00%', '+30.00 points', '+30.00 points'])

    def test_words(self):
        BROWSER.go('')
        self.assertIn('before: 100.0 ms, 10 samples · after: 200.0 ms, 20 samples', self.text('summary'))
        self.assertIn('Difference', self.text('title'))
        self.assertIn('self grew, at most +30.00 points', self.text('legend'))
        self.assertIn('self shrank, at most −15.00 points', self.text('legend'))
        BROWSER.go('colour=total')
        self.assertIn('total shrank, at most −25.00 points', self.text('legend'))

    def test_what_shrank_most_is_not_told_as_grown(self):
        BROWSER.open(self.make('after', 'before'), 'colour=total')
        self.assertIn('total grew, at most +25.00 points', self.text('legend'))
        self.assertIn('total shrank, at most −30.00 points', self.text('legend'))
        BROWSER.open(self.page)

    def tone(self, x, row):
        red, green, blue = self.pixel(x, row)
        return 'grey' if abs(red - blue) < 9 else 'red' if red > blue else 'blue'

    def test_red_grew_and_blue_shrank(self):
        """Rows: all, processes, main, handle or <module>, parse or work. Widths are of the larger
        shares: python 70, web 50, evil 10."""
        for link, tones in (('hide=0', ('grey', 'red', 'grey', 'blue')), ('hide=0&colour=total', ('red', 'red', 'blue', 'blue'))):
            BROWSER.go(link)
            w = self.width()
            self.assertEqual((self.tone(w * 0.5, 3), self.tone(w * 0.5, 4), self.tone(w * 0.85, 3), self.tone(w * 0.8 - 20, 4)),
                             tones, link)

    def test_what_is_gone_can_be_seen(self):
        BROWSER.go('hide=0')
        self.assertIn('the larger share of both', self.text('summary'))
        BROWSER.key('b')
        self.assertIn('side=after', self.link())
        BROWSER.key('b')
        self.assertIn('side=before', self.link())
        BROWSER.key('b')
        self.assertNotIn('side', self.link())

    def test_process_filter(self):
        rows = self.rows('&process=web')
        self.assertEqual({r[6] for r in rows}, {'main', 'handle', 'parse', 'ksys_read'})


class Renamed(Page):
    """One program under two names and in two folders: its functions are the same ones."""
    @classmethod
    def make(cls):
        for name, folder, work in (('orders', '/a', 60), ('orders-fixed', '/b', 20)):
            q = Request(**{'process.executable.name': name})
            start = q.frame('<module>', folder + '/app.py', 1, kind='cpython')
            main = q.frame('main()', module='/opt/' + name)
            # each side imports a module that the other one does not
            q.sample([q.frame('<module>', f'/lib/{name}_only.py', 1, kind='cpython'), start, main], 10)
            q.sample([q.frame('work()', module='/opt/' + name), start, main], work)
            q.sample([q.frame('rest()', module='/opt/' + name), start, main], 30)
            q.write(cls.path(name + '.otlp'))
        subprocess.run([PROGRAM, 'diff', '-o', cls.path('a.html'), cls.path('orders.otlp'), cls.path('orders-fixed.otlp')],
                       check=True)
        return cls.path('a.html')

    def test_functions_are_joined(self):
        rows = self.rows()
        changes = {r[6]: (r[4], r[5]) for r in rows}
        self.assertEqual(changes['work()'], ('−26.67 points', '−26.67 points'))
        self.assertEqual(changes['rest()'], ('+20.00 points', '+20.00 points'))
        self.assertEqual(changes['main()'], ('+0.00 points', '+0.00 points'))
        # that of the program, and one of each import
        self.assertEqual(sorted(r[4] for r in rows if r[6] == '<module>'), ['+0.00 points', '+16.67 points', '−10.00 points'])


if __name__ == '__main__':
    if not CHROMIUM:
        print('SKIP: there is no chromium')
        sys.exit(77)
    BROWSER = Chromium()
    try:
        result = unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=1, exit=False).result
    finally:
        BROWSER.close()
    sys.exit(not result.wasSuccessful())
