# SPDX-License-Identifier: Apache-2.0
"""What samples say of spans, against what is true: the function on the stack.

A way to read a sample's context is a function of a sample and of the number of the span that is
true (None where no span's function is on the stack). It returns the number of the span that the
sample says, or None, and what is wrong with that.
"""

SHARES = (0.5, 0.3, 0.2)
ROUTES = ("/half", "/third", "/fifth")
POINT = 0.01  # by which a share may be wrong
BARE = 0.002  # of the samples in a span may have no context


def truth_of(sample):
    """The number of the span whose function is on the stack, or None: also where a signal's
    handler has interrupted it, and is not in the function of its own span or not yet."""
    for frame in sample.frames:
        if frame.name == "on_alarm":
            return None
        if frame.name.startswith(("work_", "main.work")):
            return int(frame.name[-1])
    return None


def number_of(link):
    return int(link[1][-2:], 16) - 1 if link else None


def wrong_link(link, truth):
    if number_of(link) != truth or not link[1].startswith("cd0000") \
            or not link[0].startswith("ab0000"):
        return ["link %s on a stack of span %s" % (link, truth)]
    return []


def wrong_labels(attributes, truth, prefix=""):
    if attributes.get(prefix + "http.route") != ROUTES[truth] or \
            attributes.get(prefix + "span.number") != str(truth) or \
            prefix + "unused" in attributes:
        return ["labels %s on a stack of span %s" % (attributes, truth)]
    return []


def by_link(sample, truth):
    """Its link, and labels beside it."""
    number = number_of(sample.link)
    if truth is None or number is None:
        return number, []
    return number, wrong_link(sample.link, truth) + wrong_labels(sample.attributes, truth)


def by_labels(prefix="", linked=None):
    """Labels alone; a link only, and then always, where @linked. None: either."""
    def read(sample, truth):
        number = sample.attributes.get(prefix + "span.number")
        if number is None:
            wrong = truth is not None and sample.link
            return None, ["link %s without labels" % (sample.link,)] if wrong else []
        if truth is None:
            return int(number), []
        problems = wrong_labels(sample.attributes, truth, prefix)
        if sample.link:
            problems += wrong_link(sample.link, truth)
        if linked is not None and bool(sample.link) != linked:
            problems.append("link %s" % (sample.link,))
        return int(number), problems
    return read


def by_spans(spans, key):
    """A link to one of @spans, {span id: (number, trace id, id of its local root)}; the last of
    them is attribute @key too."""
    def read(sample, truth):
        if not sample.link:
            return None, []
        number, trace, root = spans.get(sample.link[1], (None, None, None))
        if truth is not None and number is None:
            return None, ["link %s of no span on a stack of span %d" % (sample.link, truth)]
        if truth is None:
            return number, []
        problems = []
        if number != truth or sample.link[0] != trace:
            problems.append("link %s on a stack of span %d" % (sample.link, truth))
        if sample.attributes.get(key) != root:
            problems.append("%s %s, not %s" % (key, sample.attributes.get(key), root))
        return number, problems
    return read


def when(sample):
    """The times of its samples: a link of the kind cpu has one for each."""
    return sample.timestamps or [sample.window] * sample.count


class Verdict:
    """Counts of samples by what their context says. What came before the profiler first looked
    at the process has none, and is not counted."""

    def __init__(self, samples, read):
        self.wrong = []
        self.wrong_samples = self.total = self.bare = 0
        self.taken = [0] * len(SHARES)
        said = [(s, truth_of(s), *read(s, truth_of(s))) for s in samples]
        first = min((min(when(s)) for s, _, number, _ in said if number is not None), default=0)
        for sample, truth, number, problems in said:
            count = sum(t >= first for t in when(sample))
            self.total += count
            if problems:
                self.wrong += problems
                self.wrong_samples += count
            if number is not None:
                self.taken[number] += count
            elif truth is not None:
                self.bare += count

    @property
    def linked(self):
        return sum(self.taken)

    @property
    def shares(self):
        return [n / max(self.linked, 1) for n in self.taken]

    def problems(self, least, stolen=0):
        """@stolen: the share of the CPU time that the host took. Ticks go on then, and the clock
        that a span works by stands still."""
        found = self.wrong[:5]
        if self.total < least:
            found.append("%d samples, %d were to be there" % (self.total, least))
        if self.bare > self.total * BARE:
            found.append("%d of %d samples in a span have no context" % (self.bare, self.total))
        if any(abs(is_ - was) > POINT + stolen for is_, was in zip(self.shares, SHARES)):
            found.append("shares %s, %.2f %% of the time stolen" % (self.shares, 100 * stolen))
        return found

    def __str__(self):
        return "%d samples, %d in a known span, %s wrong, %d in a span without one; shares %s" % (
            self.total, self.linked, self.wrong_samples or "none", self.bare,
            " ".join("%.2f %%" % (100 * share) for share in self.shares))


def of_functions(samples, known):
    """What the samples of functions say: @known is {function: (end of the span's id, route)}, and
    the innermost of a stack counts. Returns the samples that are right of each, and problems."""
    found = []
    for sample in samples:
        names = (name for frame in sample.frames for name in known if name in frame.name)
        function = next(names, None)
        if function:
            found.append((function, sample))
    first = min((min(when(s)) for _, s in found if s.link), default=0)
    right = {}
    problems = []
    bare = total = 0
    for function, sample in found:
        count = sum(t >= first for t in when(sample))
        total += count
        if not sample.link:
            bare += count
        elif not sample.link[1].endswith(known[function][0]) or \
                sample.attributes.get("http.route") != known[function][1]:
            problems.append("%s %s in %s" % (sample.link, sample.attributes, function))
        else:
            right[function] = right.get(function, 0) + count
    if bare > total * BARE:
        problems.append("%d of %d samples in a span have no context" % (bare, total))
    return right, problems
