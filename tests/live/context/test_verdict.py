#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The verdict on spans finds what it must find: each mistake put into samples that are right."""
import types
import unittest

import verdict

COUNT = 2000  # samples


def sample(truth, labels=True, link=True, name=None):
    s = types.SimpleNamespace(
        frames=[types.SimpleNamespace(name="spin"),
                types.SimpleNamespace(name=name or "work_%d" % truth)],
        link=("ab" + "0" * 29 + "1", "cd%014x" % (truth + 1)) if link else None,
        attributes={}, timestamps=[], window=1, count=1)
    if labels:
        s.attributes = {"http.route": verdict.ROUTES[truth], "span.number": str(truth)}
    return s


def samples(shares=verdict.SHARES, **options):
    return [sample(i, **options) for i, share in enumerate(shares)
            for _ in range(round(share * COUNT))]


def problems(made, read, least=COUNT, stolen=0):
    return verdict.Verdict(made, read).problems(least, stolen)


GO = verdict.by_labels(linked=False)
GO_IDS = verdict.by_labels(linked=True)
SPANS = {"cd%014x" % (i + 1): (i, "ab" + "0" * 29 + "1", "root%d" % i) for i in range(3)}
SDK = verdict.by_spans(SPANS, "root")


def of_sdk(shares=verdict.SHARES):
    made = samples(shares)
    for s in made:
        s.attributes["root"] = "root%d" % verdict.truth_of(s)
    return made


class Verdict(unittest.TestCase):
    def setUp(self):
        self.ways = [(lambda *a: samples(*a), verdict.by_link),
                     (lambda *a: samples(*a, link=False), GO),
                     (lambda *a: samples(*a), GO_IDS), (of_sdk, SDK)]

    def test_right(self):
        for make, read in self.ways:
            self.assertEqual(problems(make(), read), [])

    def test_a_wrong_share(self):
        for make, read in self.ways:
            for shares in (0.48, 0.32, 0.2), (0.5, 0.285, 0.215), (1, 0, 0):
                self.assertIn("shares", problems(make(shares), read)[0])
            # within the bound, and within what was stolen beside
            self.assertEqual(problems(make((0.492, 0.305, 0.203)), read), [])
            self.assertEqual(problems(make((0.48, 0.32, 0.2)), read, stolen=0.011), [])

    def test_a_wrong_span(self):
        for make, read in self.ways:
            made = make()
            made[0].frames[1].name = "main.work2"
            self.assertTrue(problems(made, read))

    def test_a_wrong_label(self):
        for make, read in self.ways[:3]:
            made = make()
            made[0].attributes["http.route"] = "/third"
            self.assertTrue(problems(made, read))

    def test_a_wrong_link(self):
        for make, read in self.ways:
            made = make()
            made[0].link = made[-1].link or ("ab" + "0" * 30, "cd" + "0" * 14)
            self.assertTrue(problems(made, read))

    def test_a_wrong_local_root(self):
        made = of_sdk()
        made[0].attributes["root"] = "root1"
        self.assertEqual(problems(made, SDK), ["root root1, not root0"])
        made[0].link = ("ab" + "0" * 30, "ef" * 8)
        self.assertIn("of no span", problems(made, SDK)[0])

    def test_too_many_without(self):
        for make, read in self.ways:
            made = make()
            for i in range(40):
                made[i * 40].link = None
                made[i * 40].attributes = {}
            self.assertIn("no context", problems(made, read)[0])

    def test_before_the_first_none_is_expected(self):
        made = samples()
        early = samples((0.01, 0, 0), labels=False, link=False)
        for s in early:
            s.window = 0
        self.assertEqual(problems(early + made, verdict.by_link), [])

    def test_a_signal_s_handler(self):
        frames = [types.SimpleNamespace(name=name) for name in ("work_2", "on_alarm", "work_0")]
        made = types.SimpleNamespace(frames=frames)
        self.assertEqual(verdict.truth_of(made), 2)
        made.frames = frames[1:]
        self.assertIsNone(verdict.truth_of(made))
        made.frames = frames[2:]
        self.assertEqual(verdict.truth_of(made), 0)

    def test_functions(self):
        known = {"load": ("01", "/half"), "price": ("02", "/third")}
        made = [sample(0, name="ns::load()"), sample(1, name="ns::price()")] * 1000
        self.assertEqual(verdict.of_functions(made, known),
                         ({"load": 1000, "price": 1000}, []))
        for wrong in (sample(0, name="price"), sample(1, name="load")):
            self.assertEqual(len(verdict.of_functions(made + [wrong], known)[1]), 1)
        wrong = sample(0, name="load")
        wrong.attributes["http.route"] = "/third"
        self.assertEqual(len(verdict.of_functions(made + [wrong], known)[1]), 1)
        bare = [sample(0, name="load", link=False, labels=False)] * 10
        self.assertIn("no context", verdict.of_functions(made + bare, known)[1][0])

    def test_too_few(self):
        self.assertIn("were to be there", problems(samples(), verdict.by_link, COUNT + 1)[0])
        self.assertTrue(problems([], verdict.by_link))


if __name__ == "__main__":
    unittest.main()
