# SPDX-License-Identifier: Apache-2.0
"""otelprof mcp, spoken to by hand: JSON-RPC 2.0, a message a line. The program is linked with a
library that gives known samples (fake_otelprof.c). With a second argument "client" it is asked by
the protocol's published Python client instead.

usage: test_mcp.py PROGRAM
"""
import json
import os
import re
import subprocess
import sys
import time
import unittest
import unittest.mock

PROGRAM = os.path.abspath(sys.argv[1])


class Session:
    def __init__(self, *options):
        self.p = subprocess.Popen([PROGRAM, 'mcp', *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, env=dict(os.environ, NO_COLOR='1'))
        self.id = 0

    def send(self, line):
        self.p.stdin.write(line + b'\n')
        self.p.stdin.flush()

    def answer(self):
        return json.loads(self.p.stdout.readline())

    def ask(self, method, params=None):
        self.id += 1
        self.send(json.dumps({'jsonrpc': '2.0', 'id': self.id, 'method': method,
                              'params': params or {}}).encode())
        a = self.answer()
        assert a['id'] == self.id and a['jsonrpc'] == '2.0', a
        return a

    def call(self, tool, **arguments):
        r = self.ask('tools/call', {'name': tool, 'arguments': arguments})['result']
        return r['isError'], r['content'][0]['text']

    def close(self):
        self.p.stdin.close()
        status = self.p.wait(30)
        errors = self.p.stderr.read()
        self.p.stdout.close()
        self.p.stderr.close()
        return status, errors


class Mcp(unittest.TestCase):
    def setUp(self):
        self.s = Session()

    def tearDown(self):
        self.assertEqual(self.s.close(), (0, b''))

    def test_beginning(self):
        for asked, got in (('2024-11-05', '2024-11-05'), ('2025-06-18', '2025-06-18'),
                           ('1999-01-01', '2025-06-18')):
            r = self.s.ask('initialize', {'protocolVersion': asked, 'capabilities': {},
                                          'clientInfo': {'name': 't', 'version': '1'}})['result']
            self.assertEqual(r['protocolVersion'], got)
            self.assertEqual(r['serverInfo']['name'], 'otelprof')
            self.assertIn('tools', r['capabilities'])
        # A notification has no answer: the next line is that of ping.
        self.s.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
        self.assertEqual(self.s.ask('ping')['result'], {})

    def test_tools_say_what_they_take(self):
        tools = {t['name']: t for t in self.s.ask('tools/list')['result']['tools']}
        self.assertEqual(set(tools), {'record', 'dump', 'top', 'report', 'callers', 'callees', 'diff',
                                      'doctor'})
        self.assertEqual(tools['diff']['inputSchema']['required'], ['before', 'after'])
        self.assertEqual(tools['record']['inputSchema']['properties']['seconds']['maximum'], 60)
        for t in tools.values():
            self.assertTrue(t['description'])
            self.assertTrue(t['annotations']['readOnlyHint'])

    def test_record_then_ask(self):
        wrong, text = self.s.call('record', seconds=1)
        self.assertFalse(wrong, text)
        path = re.search(r'The recording is (\S+)', text).group(1)
        self.assertIn('| 40.0% | 40.0% | `work` | `app.py:12`', text)
        wrong, text = self.s.call('callers', file=path, function='ksys_read')
        self.assertFalse(wrong, text)
        self.assertIn('`handle`', text)
        wrong, text = self.s.call('report', file=path, by='program')
        self.assertIn('`web`', text)
        wrong, text = self.s.call('diff', before=path, after=path)
        self.assertFalse(wrong, text)
        wrong, text = self.s.call('diff', before=path, after=path, kind='threads')
        self.assertTrue(wrong)
        self.assertIn('no samples of kind "threads"; it has "cpu"', text)
        self.assertEqual(self.s.close(), (0, b''))
        self.assertFalse(os.path.exists(os.path.dirname(path)))
        self.s = Session()

    def test_doctor_and_top(self):
        wrong, text = self.s.call('doctor')
        self.assertFalse(wrong, text)
        wrong, text = self.s.call('top', seconds=1, lines=2)
        self.assertEqual(len(json.loads(text)['functions']), 2)

    def test_a_tool_that_fails_says_why(self):
        wrong, text = self.s.call('report', file='/nowhere/x.otlp')
        self.assertTrue(wrong)
        self.assertIn('No such file', text)
        for tool, arguments, sentence in (
                ('report', {}, 'needs the argument file'),
                ('record', {'seconds': 61}, 'out of its range, 1 to 60'),
                ('record', {'seconds': 1, 'program': 'web'}, 'record has no argument program; it '
                 'takes seconds, pid, tree, container, user, cgroup, frequency, comm, kinds'),
                ('report', {'file': '/nowhere', 'hz': 9}, 'report has no argument hz'),
                ('doctor', {'x' * 1000: 9}, 'doctor has no argument of that name'),
                ('record', {'seconds': '5'}, 'must be an integer'),
                ('report', {'file': 7}, 'must be a string'),
                ('report', {'file': '--help'}, 'No such file'),
                ('report', {'file': 'a\0b'}, 'zero byte')):
            wrong, text = self.s.call(tool, **arguments)
            self.assertTrue(wrong, text)
            self.assertIn(sentence, text)

    def full(self, tool, **arguments):
        r = self.s.ask('tools/call', {'name': tool, 'arguments': arguments})['result']
        self.assertFalse(r['isError'], r)
        return r['content'][0]['text'], r['structuredContent']

    def test_what_is_next_are_calls(self):
        text, data = self.full('record', seconds=1)
        path = data['file']
        self.assertIn('## Programs\n- web: 50.0 %\n- python: 40.0 %\n- evil: 10.0 %\n', text)
        self.assertNotIn('otelprof report', text)
        self.assertEqual([p['name'] for p in data['programs']], ['web', 'python', 'evil'])
        self.assertEqual(data['rows'][0]['name'], 'work')
        self.assertEqual(data['next'], [
            {'tool': 'callers', 'arguments': {'file': path, 'function': 'work'}},
            {'tool': 'report', 'arguments': {'file': path, 'by': 'line'}},
            {'tool': 'report', 'arguments': {'file': path, 'program': 'web'}}])
        for call in data['next']:
            line = '- %s %s\n' % (call['tool'], json.dumps(call['arguments'], separators=(',', ':')))
            self.assertIn(line, text)
            answer, _ = self.full(call['tool'], **call['arguments'])
            self.assertTrue(answer)
        _, data = self.full('record', seconds=1, pid=os.getpid())
        self.assertNotIn('programs', data)
        self.assertEqual(data['next'][-1], {'tool': 'dump', 'arguments': {'pid': os.getpid()}})
        _, data = self.full('top', seconds=1)
        self.assertTrue(data['functions'])

    def test_what_has_no_samples_can_be_dumped(self):
        self.tearDown()
        with unittest.mock.patch.dict(os.environ, FAKE_OTELPROF='none'):
            self.s = Session()
        wrong, text = self.s.call('record', seconds=1, pid=os.getpid())
        self.assertTrue(wrong)
        self.assertIn('no samples', text)
        self.assertIn('## Next\n- dump {"pid":%d}\n' % os.getpid(), text)

    def test_filters_of_every_tool(self):
        path = self.full('record', seconds=1)[1]['file']
        for tool, more in (('report', {}), ('callers', {'function': 'main'}), ('callees', {'function': 'main'})):
            for arguments, total in (({'program': 'web'}, 5), ({'pid': 200}, 4), ({'thread': 'worker'}, 5),
                                     ({'container': '0123'}, 5), ({'focus': 'ksys'}, 2), ({'kind': 'cpu'}, 10),
                                     ({'ignore': ['parse', 'work']}, 3), ({'hide': ['a;b', 'EVIL']}, 10),
                                     ({'label': 'thread.name=worker'}, 5), ({'from': '0', 'to': '9'}, 10)):
                with self.subTest(tool, **arguments):
                    text, data = self.full(tool, file=path, lines=50, **more, **arguments)
                    self.assertEqual(data['total'], total, text)
        _, data = self.full('diff', before=path, after=path, program='web')
        self.assertEqual(data['before']['total'], 5)
        self.assertNotIn('##', self.full('report', file=path, tree=True)[0].split('## Calls')[0][9:])

    def test_dump(self):
        self.tearDown()
        with unittest.mock.patch.dict(os.environ, FAKE_OTELPROF='threads'):
            self.s = Session()
        wrong, text = self.s.call('dump', pid=os.getpid())
        self.assertFalse(wrong, text)
        self.assertIn('thread 42 main: sleeping, waits for pipe in pipe_read', text)
        wrong, text = self.s.call('dump', pid=os.getpid(), all=True)
        self.assertIn('vfs_read', text)
        wrong, text = self.s.call('dump', pid=os.getpid(), all='yes')
        self.assertTrue(wrong)
        self.assertIn('true or false', text)

    def test_probes_need_a_switch(self):
        for kinds in ('uprobe:/bin/sh:main', 'cpu,perf:cycles', 'probes'):
            wrong, text = self.s.call('record', seconds=1, kinds=kinds)
            self.assertTrue(wrong)
            self.assertIn('--probes', text)
        self.tearDown()
        self.s = Session('--probes')
        self.assertNotIn('--probes', self.s.call('record', seconds=1, kinds='probes')[1])
        tools = {t['name']: t for t in self.s.ask('tools/list')['result']['tools']}
        self.assertEqual([n for n, t in tools.items() if not t['annotations']['readOnlyHint']], ['record'])

    def test_batches(self):
        """Revision 2025-03-26 has them: one answer for all that want one."""
        self.s.send(b'[{"id":1,"method":"ping"},{"method":"notifications/initialized"},7,'
                    b'{"id":"b","method":"tools/call","params":{"name":"doctor"}}]')
        answers = self.s.answer()
        self.assertEqual([a['id'] for a in answers], [1, None, 'b'])
        self.assertEqual((answers[0]['result'], answers[1]['error']['code']), ({}, -32600))
        self.assertFalse(answers[2]['result']['isError'])
        self.s.send(b'[{"method":"notifications/initialized"}]')
        self.assertEqual(self.s.ask('ping')['result'], {})

    def test_a_ping_does_not_wait_for_a_tool(self):
        self.s.send(b'{"id":1,"method":"tools/call","params":{"name":"record","arguments":{"seconds":3}}}')
        time.sleep(0.5)
        self.s.send(b'{"id":2,"method":"tools/list"}\n{"id":3,"method":"ping"}\nno JSON')
        self.assertEqual([self.s.answer()['id'], self.s.answer()['error']['code']], [3, -32700])
        self.assertEqual([self.s.answer()['id'] for _ in range(2)], [1, 2])

    def test_a_call_is_cancelled(self):
        self.s.send(b'{"id":"x","method":"tools/call","params":{"name":"record","arguments":{"seconds":60}}}')
        time.sleep(0.5)
        for other in (b'"y"', b'1'):
            self.s.send(b'{"method":"notifications/cancelled","params":{"requestId":%s}}' % other)
        self.s.send(b'{"method":"notifications/cancelled","params":{"requestId":"x"}}')
        # A call that is cancelled has no answer.
        self.assertEqual(self.s.ask('ping')['result'], {})

    def test_the_end_comes_after_the_answer(self):
        self.s.send(b'{"id":1,"method":"tools/call","params":{"name":"record","arguments":{"seconds":1}}}')
        self.s.p.stdin.close()
        self.assertEqual(self.s.answer()['id'], 1)
        self.assertEqual(self.s.p.wait(30), 0)

    def test_an_answer_that_is_cut_is_an_error(self):
        """It is no JSON, but it is UTF-8: the session goes on."""
        self.tearDown()
        with unittest.mock.patch.dict(os.environ, FAKE_OTELPROF='long'):
            self.s = Session()
        wrong, text = self.s.call('top', seconds=1, lines=200)
        self.assertTrue(wrong)
        self.assertIn('The rest is cut off', text)
        self.assertGreater(len(text.encode()), 100000)
        self.assertEqual(self.s.ask('ping')['result'], {})

    def test_what_is_no_request(self):
        for line, code in ((b'{', -32700), (b'[]', -32600), (b'"x"', -32600),
                           (b'{"id":1}', -32600), (b'[' * 100, -32700), (b'\xff', -32700),
                           (b'{"id":1,"method":"frob"}', -32601),
                           (b'{"id":1,"method":"tools/call"}', -32602),
                           (b'{"id":1,"method":"tools/call","params":{"name":"rm"}}', -32602),
                           (b'{"id":1,"method":"tools/call","params":{"name":"top",'
                            b'"arguments":[1]}}', -32602),
                           (b'x' * (1 << 20), -32600)):
            self.s.send(line)
            self.assertEqual(self.s.answer()['error']['code'], code, line[:60])
        self.assertEqual(self.s.ask('ping')['result'], {})


def by_client():
    """The same by the published client: it begins, lists the tools and calls each of them."""
    import asyncio
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    def failed(r):
        return r.is_error if hasattr(r, 'is_error') else r.isError

    async def talk():
        async with stdio_client(StdioServerParameters(command=PROGRAM, args=['mcp'])) as streams:
            async with ClientSession(*streams) as session:
                async def ask(tool, **arguments):
                    r = await session.call_tool(tool, arguments)
                    assert not failed(r), (tool, r)
                    return r.content[0].text

                await session.initialize()
                tools = {t.name for t in (await session.list_tools()).tools}
                assert tools == {'record', 'dump', 'top', 'report', 'callers', 'callees', 'diff',
                                 'doctor'}, tools
                path = re.search(r'The recording is (\S+)', await ask('record', seconds=1)).group(1)
                assert '`python' in await ask('report', file=path, by='program')
                r = await session.call_tool('report', {'file': '/nowhere'})
                assert failed(r), r
                table = json.loads(await ask('top', seconds=1, pid=busy.pid))
                assert any(f['function'] == 'spin_here' for f in table['functions']), table
                # The function is a leaf of the interpreted code: what calls it is its module.
                text = await ask('callers', file=path, function='spin_here')
                assert '`spin_here`' in text and '`<module>`' in text, text
                text = await ask('callees', file=path, function='<module>', lines=60)
                assert '`spin_here`' in text, text
                other = re.search(r'The recording is (\S+)',
                                  await ask('record', seconds=1, pid=others.pid)).group(1)
                text = await ask('diff', before=other, after=path, lines=99)
                assert '`spin_here`' in text, text
                text = await ask('doctor')
                assert 'memory of other processes' in text, text

    # An idle host has no samples in a second, and what takes a whole recording does not change.
    busy, others = (subprocess.Popen([sys.executable, '-c', 'def %s():\n while True: pass\n%s()' %
                                      (name, name)]) for name in ('spin_here', 'turn_here'))
    try:
        asyncio.run(talk())
    finally:
        for p in (busy, others):
            p.kill()
            p.wait()


if __name__ == '__main__':
    if sys.argv[2:] == ['client']:
        by_client()
        print('the published client was answered')
    else:
        unittest.main(argv=sys.argv[:1])
