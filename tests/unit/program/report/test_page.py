# SPDX-License-Identifier: Apache-2.0
"""The flame graph page in a browser, on the ten events of tests/unit/program/request.h.

usage: test_page.py PROGRAM    (the one linked with fake_otelprof.c)

What the page shows is read from its document after its script has run. Skipped (77)
without chromium.
"""
import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from urllib.parse import quote

PROGRAM = os.path.abspath(sys.argv[1])
CHROMIUM = shutil.which('chromium') or shutil.which('chromium-browser')
EVIL = "</script><img src=x onerror=document.title='pwned'>"


# At the end of the page's script: of each node its name, its change and the colour drawn.
PROBE = '''
draw();
{
	const seen = [], scale = devicePixelRatio || 1;
	for (let i = 1; i < T.fn.length; i++) {
		const [x, w] = span(i), y = rowTop(T.depth[i]);
		const at = pen.getImageData((x + w - 4) * scale, (y + 3) * scale, 1, 1).data;
		if (w > 8)
			seen.push([nameOf(T.fn[i]), change(T, i), at[0], at[1], at[2]]);
	}
	const e = document.createElement('pre');
	e.id = 'probe';
	e.textContent = JSON.stringify(seen);
	document.body.append(e);
}
'''


class Browser(unittest.TestCase):
    """A page, cls.page, after its script has run."""

    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.dir.cleanup)

    @classmethod
    def record(cls, name, mode=''):
        path = os.path.join(cls.dir.name, name)
        subprocess.run([PROGRAM, 'record', '-d', '0.1', '-o', path], check=True,
                       stderr=subprocess.DEVNULL, env={**os.environ, 'FAKE_OTELPROF': mode})
        return path

    def document(self, state=''):
        profile = tempfile.mkdtemp(dir=self.dir.name)
        r = subprocess.run(
            [CHROMIUM, '--headless', '--no-sandbox', '--disable-gpu', '--no-first-run',
             '--disable-background-networking', '--user-data-dir=' + profile,
             '--window-size=1200,700', '--dump-dom', f'file://{self.page}#{state}'],
            capture_output=True, text=True, timeout=120)
        self.assertIn('data-ready', r.stdout, r.stderr[-500:])
        return r.stdout

    def text_of(self, document, element):
        m = re.search(rf'<(\w+)[^>]* id="{element}"[^>]*>(.*?)</\1>', document, re.S)
        self.assertTrue(m, element)
        return html.unescape(re.sub('<[^>]*>', ' ', m.group(2)))

    def search(self, words, state=''):
        return self.text_of(self.document(f'q={quote(words)}{state}'), 'matched')

    def rows(self, state):
        document = self.document('view=table' + state)
        body = re.search(r'<tbody id="rows">(.*?)</tbody>', document, re.S).group(1)
        return [[html.unescape(re.sub('<[^>]*>', '', c))
                 for c in re.findall(r'<td[^>]*>(.*?)</td>', row, re.S)]
                for row in re.findall(r'<tr>(.*?)</tr>', body, re.S)]


class Kinds(Browser):
    """Four types of samples: each has its unit, and colours that are not the CPUs'."""
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.page = cls.record('kinds.html', 'kinds')
        with open(cls.page) as f:
            page = f.read()
        with open(cls.page, 'w') as f:
            f.write(page.replace('})();\n</script>', PROBE + '})();\n</script>'))

    def colours(self, document):
        seen = json.loads(self.text_of(document, 'probe'))
        return {name: tuple(rgb) for name, _, *rgb in seen}

    def test_unit_and_colours(self):
        hues = {}
        for state, kind, summary, share in (
                ('', 'samples', '10 samples', None),
                ('kind=off_cpu', 'off_cpu', '1.00 s', '75.00%'),
                ('kind=alloc_space/bytes', 'alloc_space', '12,582,912 bytes', '75.00%'),
                ('kind=contentions', 'contentions', '4 contentions', '75.00%')):
            with self.subTest(kind=kind):
                document = self.document(state)
                text = self.text_of(document, 'summary')
                self.assertIn(summary, text)
                self.assertEqual(' of CPU' in text, kind == 'samples')
                self.assertNotRegex(document, r'id="kind-label" hidden')
                if share:
                    rows = {r[4]: r for r in self.rows('&' + state)}
                    self.assertIn(share, rows['outer'])
                # of the same type of frame in each
                hues[kind] = self.colours(document)['main']
        self.assertEqual(len(set(hues.values())), 4, hues)

    def test_choices(self):
        options = re.search(r'id="kind">(.*?)</select>', self.document(), re.S).group(1)
        self.assertEqual(sorted(re.findall(r'>([^<]+)</option>', options)),
                         ['alloc_space (bytes)', 'contentions (count)', 'off_cpu (nanoseconds)',
                          'samples (count)'])


class Page(Browser):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.page = cls.record('profile.html')

    def test_names_stay_names(self):
        document = self.document('view=table')
        self.assertIn('<title>Flame graph', document)
        self.assertNotIn('<img', document)
        self.assertIn(EVIL, [r[4] for r in self.rows('')])

    def test_nothing_comes_from_elsewhere(self):
        with open(self.page) as f:
            page = f.read()
        self.assertEqual(re.findall(r'(?:src|href)="[^"]*"|@import|url\(', page), [])
        self.assertEqual([u for u in re.findall(r'https?://[^\'" ]*', page)],
                         ['http://www.w3.org/2000/svg'])

    def test_summary_and_legend(self):
        document = self.document()
        self.assertIn('10 samples', self.text_of(document, 'summary'))
        self.assertIn('100.0 ms of CPU', self.text_of(document, 'summary'))
        legend = re.sub(r'\s+', ' ', self.text_of(document, 'legend'))
        self.assertIn('native 40.00%', legend)
        self.assertIn('Python 40.00%', legend)
        self.assertIn('kernel 20.00%', legend)

    def test_search_counts_a_stack_once(self):
        # main stands on 9 of 10 stacks; handle and parse are on the same 5.
        for words, share in (('^main$', '90.00%'), ('handle|parse', '50.00%'),
                             ('KSYS', '0.00%'), ('ksys', '20.00%'), ('app\\.py', '40.00%'),
                             ('vmlinux', '20.00%'), ('img src', '10.00%')):
            with self.subTest(words=words):
                self.assertEqual(self.search(words), 'matched ' + share)

    def test_wrong_expression_is_told(self):
        document = self.document('q=' + quote('('))
        self.assertEqual(self.text_of(document, 'matched'), 'not a regular expression')

    def test_process_filter(self):
        self.assertEqual(self.search('ksys', '&process=web'), 'matched 40.00%')
        rows = self.rows('&process=python')
        self.assertEqual([(r[0], r[2], r[4]) for r in rows],
                         [('4', '4', 'work'), ('0', '4', '<module>'), ('0', '4', 'main')])

    def test_table(self):
        rows = self.rows('')
        self.assertEqual(rows[0], ['4', '40.00%', '4', '40.00%', 'work', 'Python', '',
                                   'app.py:10'])
        self.assertEqual([(r[0], r[2], r[4]) for r in rows[1:4]],
                         [('3', '3', 'parse'), ('2', '2', 'ksys_read'), ('1', '1', 'a;b')])


class Diff(Browser):
    """The page of two recordings: of 10 samples four are in work before, of 20 fourteen after."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.page = os.path.join(cls.dir.name, 'diff.html')
        subprocess.run([PROGRAM, 'diff', '-o', cls.page, cls.record('before.otlp'),
                        cls.record('after.otlp', 'later')], check=True)

    def test_what_grew_comes_first(self):
        """Self, its share, total, its share, the change of the total's share, name."""
        rows = [r[:6] for r in self.rows('')]
        self.assertEqual(rows[0], ['14', '70.00%', '14', '70.00%', '+30.00 points', 'work'])
        changes = {r[5]: r[4] for r in rows}
        self.assertEqual(changes, {
            'work': '+30.00 points', '<module>': '+30.00 points', 'main': '+5.00 points',
            'handle': '−25.00 points', 'parse': '−15.00 points', 'ksys_read': '−10.00 points',
            EVIL: '−5.00 points', 'a;b': '−5.00 points'})

    def test_swapped(self):
        row = next(r for r in self.rows('&side=before') if r[5] == 'work')
        self.assertEqual(row[:5], ['4', '40.00%', '4', '40.00%', '+30.00 points'])

    def test_words(self):
        document = self.document()
        self.assertIn('before: 10 samples · after: 20 samples', self.text_of(document, 'summary'))
        self.assertIn('Differential', self.text_of(document, 'title'))
        self.assertIn('grew, at most +30.00 points', self.text_of(document, 'legend'))
        self.assertIn('shrank, at most −25.00 points', self.text_of(document, 'legend'))

    def test_what_shrank_most_is_not_told_as_grown(self):
        back = os.path.join(self.dir.name, 'back.html')
        subprocess.run([PROGRAM, 'diff', '-o', back, os.path.join(self.dir.name, 'after.otlp'),
                        os.path.join(self.dir.name, 'before.otlp')], check=True)
        with unittest.mock.patch.object(self, 'page', back):
            legend = self.text_of(self.document(), 'legend')
        self.assertIn('grew, at most +25.00 points', legend)
        self.assertIn('shrank, at most −30.00 points', legend)

    def test_red_grew_and_blue_shrank(self):
        """The pixels of each node's rectangle, near its edge where no text is."""
        with open(self.page, encoding='utf-8') as f:
            page, end = f.read(), '})();\n</script>\n</body>'
        self.assertEqual(page.count(end), 1)
        probed = os.path.join(self.dir.name, 'probed.html')
        with open(probed, 'w', encoding='utf-8') as f:
            f.write(page.replace(end, PROBE + end))
        for state in ('', 'side=before'):
            with unittest.mock.patch.object(self, 'page', probed):
                nodes = json.loads(self.text_of(self.document(state), 'probe'))
            colours = {}
            for name, change, red, _, blue in nodes:
                tone = 'red' if red > blue else 'blue' if blue > red else 'grey'
                self.assertEqual(tone, 'red' if change > 0 else 'blue', (state, name, change))
                colours[name] = tone, abs(red - blue)
            self.assertEqual({name: colours[name][0] for name in ('work', 'parse', 'a;b')},
                             {'work': 'red', 'parse': 'blue', 'a;b': 'blue'})
            # The deeper the more.
            self.assertGreater(colours['parse'][1], colours['a;b'][1])

    def test_process_filter(self):
        rows = self.rows('&process=web')
        self.assertEqual({r[5] for r in rows}, {'main', 'handle', 'parse', 'ksys_read'})


if __name__ == '__main__':
    if not CHROMIUM:
        print('SKIP: there is no chromium')
        sys.exit(77)
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=1)
