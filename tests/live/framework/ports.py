# SPDX-License-Identifier: Apache-2.0
"""Ports for the servers of tests."""

import random
import socket
import time

# Below the ports that Linux gives to sockets (ip_local_port_range, 32768 to 60999): no connection
# of another program takes such a port while its server restarts.
FIRST = 10240
LAST = 32767
TRIES = 100


def listen_anywhere():
    """A socket that listens on loopback, at a port that a restarted server can use again."""
    for _ in range(TRIES - 1):
        try:
            return socket.create_server(("127.0.0.1", random.randint(FIRST, LAST)))
        except OSError:
            continue  # it is in use
    return socket.create_server(("127.0.0.1", random.randint(FIRST, LAST)))


def free_port():
    with listen_anywhere() as s:
        return s.getsockname()[1]


def wait_for_port(port, process, log, seconds=30, host="127.0.0.1"):
    """Wait until @process listens at @port. @log: a file that has the reason if it does not."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None:
        with socket.socket() as s:
            if s.connect_ex((host, port)) == 0:
                return
        time.sleep(0.1)
    with open(log, encoding="utf-8", errors="replace") as f:
        raise RuntimeError("nothing listens at port %d: see %s: %s" % (port, log,
                                                                      f.read()[-300:]))
