"""Ranks that train together: changes that are in force at one step on all of them, and which of them the others wait for.

Loaded at the second step of a program with several ranks. Nothing here sends a message or waits for another rank.
"""
import functools
import os

import prismtop
from prismtop import G

ALONE = {  # knobs that ranks would have in force at different steps, or that change which collectives they take part in
    "compile": "a compiled model takes part in other collectives: several ranks would wait for each other",
    "memory_format": "gradients of other strides are exchanged otherwise: only for one rank",
    "workers": "in force at the next epoch of each rank: only for one rank",
    "prefetch": "in force at the next epoch of each rank: only for one rank",
    "pin_memory": "in force at the next epoch of each rank: only for one rank",
}


class Proposal:
    """A document that waits for its step. The ranks of a machine decide there whether it is in force, by a link in the
    folder of their rings whose making only one of them, or prismtop, achieves: prismtop makes "yes" when all ranks are
    ready, and a rank that comes to its step before that makes "no". All find the same, whoever dies in between."""

    def __init__(self, ring, doc, step):
        self.start, name = int(doc["from"]), doc["agreement"]
        if not isinstance(name, str) or os.path.basename(name) != name or not name.partition(".")[2]:
            raise ValueError("agreement must be the name of a file")
        self.link = os.path.join(os.path.dirname(ring.path), name)
        self.late = self.start <= step

    def agreed(self):
        """The decision, at the step."""
        try:
            os.symlink("no", self.link)
            return False
        except FileExistsError:
            return os.readlink(self.link) == "yes"
        except OSError:
            return False


class LastGradient:
    """The moment of the last local gradient of a backward: what backward takes after it is exchange with the other ranks
    and waiting for them. The parameter whose gradient comes last is learned in one step, and a hook stays at it alone."""

    LOOKS = 4

    def __init__(self, guest):
        self.guest, self.loop = guest, guest.loop
        self.handles, self.last, self.fired, self.missed, self.learned = [], None, 0, 0, 0
        self.learn()

    def learn(self):
        self.take()
        self.last, self.fired, self.missed = None, 0, 0
        self.learned += 1
        parameters = {id(p): p for m in self.guest.models() for p in m.parameters() if p.requires_grad and getattr(p, "is_leaf", True)}
        for p in parameters.values():
            if hasattr(p, "register_post_accumulate_grad_hook"):
                self.handles.append((p, p.register_post_accumulate_grad_hook(functools.partial(self.remember, id(p)))))

    def remember(self, which, _):
        self.last = which

    def hook(self, _):
        loop = self.loop
        try:
            self.fired += 1
            if loop.live and loop.watch == "all" and loop.ring is not None:
                if loop.device is None:
                    loop.moments += G, prismtop.now()
                else:
                    loop.event(G)
        except Exception as e:
            loop.stop(e)

    def boundary(self):
        """Looks at a boundary what was learned, or whether it is time to learn again because another model is trained."""
        if self.last is not None:
            which = next((p for p, _ in self.handles if id(p) == self.last), None)
            self.take()
            self.last = None
            if which is not None:
                self.handles = [(which, which.register_post_accumulate_grad_hook(self.hook))]
            return
        self.missed = 0 if self.fired else self.missed + 1
        self.fired = 0
        if self.missed > 64 and self.learned < self.LOOKS:
            self.learn()

    def take(self):
        for _, handle in self.handles:
            handle.remove()
        self.handles = []


def sharded(models):
    """Whether a model's weights are divided among the ranks, which then wait for each other in forward, too."""
    return any(type(x).__name__ == "FullyShardedDataParallel" for m in models for x in m.modules()) or any(hasattr(p, "device_mesh") for m in models for p in m.parameters())


def begin(loop, guest):
    """Adds the phase exchange, once the models are known. None where it would not be what the other ranks are waited for in."""
    if sharded(guest.models()):
        return None
    if len(loop.phases) < prismtop.MOST_PHASES:
        index = len(loop.phases)
        loop.phases.append({"name": "exchange", "what": "from this rank's last gradient to the end of backward: exchange of gradients, and waiting for other ranks",
                            "tier": "found"})
        prismtop.TABLE[G << 4 | prismtop.B1] = index
    return LastGradient(guest)
