"""A cache of a function's results that is counted, and switched by a knob: prismtop.cache."""
import collections
import functools
import sys

from prismtop import LOOP, MOST_CACHES, identifier, knob, now
from prismtop_ring import TIMED, within


class Cache:
    """Remembers results of a function, counts hits, misses, bytes and the time saved; a knob switches it."""

    def __init__(self, function, title, what, key, most):
        self.function, self.title, self.what, self.most = function, title, within(what, 200), most
        self.inner = getattr(function, "__wrapped__", None) if hasattr(function, "cache_info") else None
        self.entries, self.hits, self.misses, self.held, self.spent, self.squares = collections.OrderedDict(), 0, 0, 0, 0, 0.0
        self.costs = collections.deque(maxlen=TIMED)  # of the latest computations
        self.key = key or (lambda *args, **kwargs: (args, tuple(sorted(kwargs.items()))))
        self.name = identifier(title)
        self.on = knob("cache_" + self.name[:26], True, touches=["other"] + [p["name"] for p in LOOP.phases if p["name"] != "other"], exact=True,
                       help=f"keep the results of {title}", compared=["on", "off"])
        self.knob = LOOP.knobs.get(within("cache_" + self.name[:26]))
        if len(LOOP.caches) < MOST_CACHES:
            LOOP.caches.append(self)
        functools.update_wrapper(self, function)

    def __call__(self, *args, **kwargs):
        t = now()
        if not self.on.value:
            return (self.inner or self.function)(*args, **kwargs)
        if self.inner is not None:
            before = self.function.cache_info().misses
            value = self.function(*args, **kwargs)
            return self.count(value, self.function.cache_info().misses == before, t, now())
        key = self.key(*args, **kwargs)
        if key in self.entries:
            self.entries.move_to_end(key)
            return self.count(self.entries[key], True, t, now())
        begun = now()
        value = self.function(*args, **kwargs)
        ended = now()
        self.entries[key] = value
        self.held += self.weight(value)
        if len(self.entries) > self.most:
            self.held -= self.weight(self.entries.popitem(last=False)[1])
        self.looked_up(begun - t)
        return self.count(value, False, begun, ended)

    def count(self, value, hit, begun, ended):
        if hit:
            self.hits += 1
            self.looked_up(ended - begun)
        else:
            self.misses += 1
            self.costs.append(ended - begun)
        return value

    def looked_up(self, took):
        self.spent += took
        self.squares += took * took

    @staticmethod
    def weight(value):
        return getattr(value, "nbytes", None) or sys.getsizeof(value, 0)

    def __get__(self, instance, owner=None):
        return self if instance is None else functools.partial(self, instance)

    def numbers(self):
        """Every hit saves the median of the latest computations, as in prismtop's own caches."""
        saved = self.hits * sorted(self.costs)[(len(self.costs) - 1) // 2] - self.spent if self.costs else 0
        entries = self.function.cache_info().currsize if self.inner is not None else len(self.entries)
        return [int(self.on.value), self.hits, self.misses, entries, self.held, saved, self.spent]
