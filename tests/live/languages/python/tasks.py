# SPDX-License-Identifier: Apache-2.0
"""
Tasks of asyncio whose stacks are known. For CPython 3.14 and later, standard library only.

  tasks.py SECONDS   the ways by which a task comes to await another one, in turn. At the end
                     of each stands a coroutine leaf_WAY, and all have the same CPU time.
"""
import asyncio
import sys
import time

TURN = 0.01 # seconds of CPU time


def spin():
    end = time.thread_time() + TURN
    while time.thread_time() < end:
        pass


async def leaf_task():
    spin()


async def middle_task():
    await asyncio.create_task(leaf_task())


async def by_task():
    await middle_task()


async def leaf_tasks():
    spin()


async def inner_tasks():
    await asyncio.create_task(leaf_tasks())


async def outer_tasks():
    await asyncio.create_task(inner_tasks())


async def by_tasks():
    await asyncio.create_task(outer_tasks())


async def leaf_gather():
    spin()


async def by_gather():
    await asyncio.gather(leaf_gather(), asyncio.sleep(0))


async def leaf_group():
    spin()


async def by_group():
    async with asyncio.TaskGroup() as group:
        group.create_task(leaf_group())


async def leaf_generator():
    spin()


async def generate():
    yield await asyncio.create_task(leaf_generator())


async def by_generator():
    async for unused in generate():
        pass


async def leaf_timeout():
    spin()


async def by_timeout():
    await asyncio.wait_for(asyncio.create_task(leaf_timeout()), 60)


async def leaf_wait():
    spin()


async def by_wait():
    await asyncio.wait([asyncio.create_task(leaf_wait())])


class Wrapped:
    def __init__(self, task):
        self.task = task

    def __await__(self):
        yield from self.task


async def leaf_class():
    spin()


async def by_class():
    await Wrapped(asyncio.create_task(leaf_class()))


# Two tasks await one: neither is its caller.
async def leaf_two():
    spin()


async def one_of_two(task):
    await task


async def by_two():
    task = asyncio.create_task(leaf_two())
    await asyncio.gather(one_of_two(task), one_of_two(task))


# A task that runs at once runs on top of the one that makes it.
async def leaf_eager():
    spin()


async def by_eager():
    asyncio.Task(leaf_eager(), loop=asyncio.get_running_loop(), eager_start=True)


WAYS = by_task, by_tasks, by_gather, by_group, by_generator, by_timeout, by_wait, by_class, \
    by_two, by_eager


async def main(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for way in WAYS:
            await way()


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1])))
