# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium, started once, by the pipe of its DevTools protocol."""
import base64
import json
import os
import shutil
import subprocess
import tempfile

CHROMIUM = shutil.which('chromium') or shutil.which('chromium-browser')
FOR_IT, FROM_IT = 3, 4  # the descriptors that Chromium reads and writes
KEYS = {'Enter': 13, 'Escape': 27, 'ArrowUp': 38, 'ArrowDown': 40, 'ArrowLeft': 37, 'ArrowRight': 39,
        'Backspace': 8, 'Home': 36}


class Chromium:
    """One page at a time. Complaints of its scripts are in .errors."""

    def __init__(self, width=1200, height=800):
        self.dir = tempfile.mkdtemp()
        to_read, self.out = os.pipe()
        self.inp, to_write = os.pipe()

        def at_their_places():
            # above both first, so that neither is closed by the other
            a, b = os.dup(to_read), os.dup(to_write)
            a, b = os.dup(a), os.dup(b)
            os.dup2(a, FOR_IT)
            os.dup2(b, FROM_IT)

        self.process = subprocess.Popen(
            [CHROMIUM, '--headless', '--no-sandbox', '--disable-gpu', '--no-first-run',
             '--disable-background-networking', '--user-data-dir=' + self.dir,
             f'--window-size={width},{height}', '--remote-debugging-pipe', 'about:blank'],
            preexec_fn=at_their_places, close_fds=False, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.number, self.left, self.session, self.errors = 0, b'', None, []
        self.loaded = False
        pages = self.call('Target.getTargets')['targetInfos']
        page = next(t for t in pages if t['type'] == 'page')
        self.session = self.call('Target.attachToTarget', targetId=page['targetId'], flatten=True)['sessionId']
        for part in ('Page', 'Runtime', 'Log', 'Network'):
            self.call(part + '.enable')
        self.requests = []

    def close(self):
        os.close(self.out)
        self.process.kill()
        self.process.wait()
        os.close(self.inp)
        shutil.rmtree(self.dir, ignore_errors=True)

    def message(self):
        while b'\0' not in self.left:
            more = os.read(self.inp, 1 << 20)
            if not more:
                raise EOFError('Chromium ended')
            self.left += more
        text, _, self.left = self.left.partition(b'\0')
        m = json.loads(text)
        if m.get('method') == 'Runtime.exceptionThrown':
            self.errors.append(m['params']['exceptionDetails'])
        elif m.get('method') == 'Log.entryAdded' and m['params']['entry']['level'] == 'error':
            self.errors.append(m['params']['entry'])
        elif m.get('method') == 'Network.requestWillBeSent':
            self.requests.append(m['params']['request']['url'])
        elif m.get('method') == 'Page.loadEventFired':
            self.loaded = True
        return m

    def call(self, method, **params):
        self.number += 1
        m = {'id': self.number, 'method': method, 'params': params}
        if self.session:
            m['sessionId'] = self.session
        os.write(self.out, json.dumps(m).encode() + b'\0')
        while True:
            answer = self.message()
            if answer.get('id') == self.number:
                if 'error' in answer:
                    raise RuntimeError(f'{method}: {answer["error"]}')
                return answer['result']

    def js(self, expression):
        """The value of an expression, which may be a promise."""
        r = self.call('Runtime.evaluate', expression=expression, returnByValue=True, awaitPromise=True)
        if 'exceptionDetails' in r:
            raise RuntimeError(f'{expression}: {r["exceptionDetails"]}')
        return r['result'].get('value')

    def frame(self):
        """Wait until what was asked for is drawn."""
        self.js('new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))')

    def open(self, path, link=''):
        for url in 'about:blank', f'file://{path}#{link}':
            self.errors, self.requests, self.loaded = [], [], False
            self.call('Page.navigate', url=url)
            while not self.loaded:
                self.message()
        self.js('new Promise(r => setTimeout(r, 60))')
        self.frame()

    def go(self, link):
        """Another link of the page that is open."""
        self.js(f'new Promise(r => {{ if (location.hash.slice(1) === {json.dumps(link)}) return r(); '
                f'addEventListener("hashchange", () => setTimeout(r), {{ once: true }}); '
                f'location.hash = {json.dumps(link)}; }})')
        self.frame()

    def text(self, element):
        return self.js(f'document.getElementById({json.dumps(element)}).textContent')

    def shown(self, element):
        return self.js(f'document.getElementById({json.dumps(element)}).checkVisibility()')

    def key(self, key):
        code = {'key': key, 'windowsVirtualKeyCode': KEYS.get(key, ord(key[0]))}
        if key not in KEYS:
            code['text'] = key
        self.call('Input.dispatchKeyEvent', type='keyDown', **code)
        self.call('Input.dispatchKeyEvent', type='keyUp', **code)
        self.frame()

    def type(self, text):
        self.call('Input.insertText', text=text)
        self.frame()

    def mouse(self, what, x, y):
        self.call('Input.dispatchMouseEvent', type=what, x=x, y=y, clickCount=1,
                  button='none' if what == 'mouseMoved' else 'left',
                  buttons=1 if what == 'mousePressed' else 0)

    def box(self, element):
        return self.js(f'(b => [b.x, b.y, b.width, b.height])(document.getElementById({json.dumps(element)})'
                       '.getBoundingClientRect())')

    def click(self, element, x=None, y=None):
        left, top, width, height = self.box(element)
        at = left + (width / 2 if x is None else x), top + (height / 2 if y is None else y)
        for what in ('mouseMoved', 'mousePressed', 'mouseReleased'):
            self.mouse(what, *at)
        self.frame()

    def drag(self, element, x, to_x, y):
        left, top, *_ = self.box(element)
        for what, at in (('mouseMoved', x), ('mousePressed', x), ('mouseMoved', to_x), ('mouseReleased', to_x)):
            self.mouse(what, left + at, top + y)
        self.frame()

    def dark(self, on):
        self.call('Emulation.setEmulatedMedia',
                  features=[{'name': 'prefers-color-scheme', 'value': 'dark' if on else 'light'}])

    def picture(self, path):
        with open(path, 'wb') as f:
            f.write(base64.b64decode(self.call('Page.captureScreenshot')['data']))
