# SPDX-License-Identifier: Apache-2.0
"""Endpoints unix:///PATH: known samples arrive through a socket, over gRPC and HTTP.

usage: test_unix.py SENDER

Behind the socket stands a relay to the receiver of tests/harness, which listens on a port.
"""
import argparse
import os
import socket
import sys
import tempfile
import threading
import time
import unittest

SENDER = os.path.abspath(sys.argv[1])
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import outage


class Relay:
    """Bytes of each client of the socket @path to the port, and back."""

    def __init__(self, path, port):
        self.clients, self.port = 0, port
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(8)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            client, _ = self.listener.accept()
            self.clients += 1
            server = socket.create_connection(("127.0.0.1", self.port))
            for a, b in ((client, server), (server, client)):
                threading.Thread(target=self.carry, args=(a, b), daemon=True).start()

    @staticmethod
    def carry(a, b):
        try:
            while data := a.recv(65536):
                b.sendall(data)
            b.shutdown(socket.SHUT_WR)
        except OSError:
            pass


class Unix(unittest.TestCase):
    def send(self, protocol):
        with tempfile.TemporaryDirectory() as d:
            args = argparse.Namespace(sender=SENDER, protocol=protocol)
            server = outage.Server(args, os.path.join(d, "record"))
            server.start()
            self.addCleanup(server.kill)
            relay = Relay(os.path.join(d, "socket"), server.port)
            sender = outage.Sender(args, "unix://" + os.path.join(d, "socket"),
                                   os.path.join(d, "spill"), 1)
            time.sleep(0.5)
            sender.finish(30)
            taken, _, _ = server.seen()
        self.assertGreater(len(sender.submitted), 5)
        self.assertEqual(taken, sender.submitted)
        self.assertEqual(sender.end["exported"], sum(taken.values()))
        self.assertGreater(relay.clients, 0)

    def test_grpc(self):
        self.send("grpc")

    def test_http(self):
        self.send("http")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
