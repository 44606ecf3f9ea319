# SPDX-License-Identifier: Apache-2.0
"""What programs in Python do: parse, tokenize, match, sort, encode, switch tasks."""
import ast
import asyncio
import inspect
import io
import json
import re
import tokenize

SOURCE = inspect.getsource(ast) + inspect.getsource(tokenize)


def parse():
    tree = ast.parse(SOURCE)
    return sum(isinstance(node, ast.Name) for node in ast.walk(tree)) + len(ast.unparse(tree))


def tokens():
    return sum(1 for _ in tokenize.generate_tokens(io.StringIO(SOURCE).readline))


def text():
    words = re.findall(r"[a-z_]\w+", SOURCE)
    counts = {w: words.count(w) for w in sorted(set(words))[:60]}
    return len(json.dumps(json.loads(json.dumps(counts)), indent=1))


async def worker(queue, left):
    while left:
        left -= 1
        await queue.put(len(json.dumps([left] * 50)))
        await asyncio.sleep(0)


async def tasks():
    queue = asyncio.Queue()
    await asyncio.gather(*(worker(queue, 100) for _ in range(20)))
    return queue.qsize()


while True:
    parse()
    tokens()
    text()
    asyncio.run(tasks())
