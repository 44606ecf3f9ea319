# SPDX-License-Identifier: Apache-2.0
"""Ports for the servers of tests."""

import socket
import time


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_for_port(port, process, log, seconds=30, host="127.0.0.1"):
    """Wait until @process listens at @port. @log: the file with the reason if it does not."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None:
        with socket.socket() as s:
            if s.connect_ex((host, port)) == 0:
                return
        time.sleep(0.1)
    with open(log, encoding="utf-8", errors="replace") as f:
        raise RuntimeError("nothing listens at port %d: see %s: %s" % (port, log,
                                                                      f.read()[-300:]))
