"""prismtop's side of a PyTorch loop: it measures the phases of every step and switches knobs at step boundaries.

`prismtop python train.py` puts this file before the program; a program may also import it to say what patches cannot know:

    import prismtop
    accumulate = prismtop.knob("accumulate", 4, low=1, high=64, touches=["forward", "backward"])
    for batch in prismtop.steps(loader, items="images"):
        with prismtop.phase("telescope"): ...
        prismtop.log(psnr=value)

Without PRISMTOP_LOOP in the environment nothing is patched, nothing is written, and these calls do next to nothing.
Nothing here waits, synchronises a device or changes a result; the first exception takes every patch back, and the
training goes on. The file that carries the records is described in FORMAT.md. Standard library only, CPython 3.9 to 3.14.
"""
import array
import atexit
import functools
import importlib.util
import itertools
import math
import os
import struct
import sys
import threading
import time
import types
import zlib

__all__ = ["phase", "step", "steps", "epoch", "evaluation", "accumulates", "cache", "knob", "log", "picture", "compare"]

from prismtop_ring import (CACHES, CANCELLED, COMPILED, COSTS, DONE, EVALUATION, FIRST, FORMAT, LEASE_OVER, MEMORY, NONFINITE, NOT_UNDERSTOOD, NO_BLOCK, PARTLY, PICTURE,
                           PREPARING, READY, SCHEDULE_OVER, SETTLING, SKIPPED, SLOWED, STEP, STOPPED, TEXT, THIN, TRAINING, UNIT, ANSWER, FAILED, OVER, Ring,
                           check_values, grey, identifier, series, within)

now, thread = time.monotonic_ns, threading.get_ident
MOST_PHASES, MOST_SERIES, MOST_CACHES, MOST_PICTURES, MOST_KNOBS = 16, 24, 8, 5, 64

# ---- moments and phases ---------------------------------------------------------------------------------------

DATA_, PREPARE, FORWARD, LOSS, BACKWARD, CLIP, OPTIMIZER, OTHER = range(8)
FOUND = [("data", "waiting for the DataLoader"), ("prepare", "from the batch to the model: transfer, zero_grad"), ("forward", "the model's call"),
         ("loss", "from the model's output to backward"), ("backward", "backward"),
         ("clip", "from backward to the optimizer, whatever is done there: unscaling, clipping, exchange of gradients"), ("optimizer", "optimizer.step"),
         ("other", "everything else: logging, evaluation, checkpoints, prismtop's own time")]
# Moments: a batch is asked for and received, the model begins and ends, backward, the optimizer, an evaluation of the
# model, an iterator that is exhausted, the last local gradient of several ranks. An interval between two moments belongs to a phase.
# All from F0 on do more than to end an interval.
D0, D1, F1, B0, O0, O1, G, E1, F0, B1, E0, X = range(12)
# What else goes into the list of moments, each with a value: F0 of a pass without gradients, B1 inside the optimizer's step, a batch, a loss,
# items and place of a step, a logged value, flags, the end of a step and of prismtop's own work at a boundary, the beginning of an epoch, a picture.
NO_GRAD, CLOSURE, BATCH, LOST, ITEMS, PLACE, LOGGED, FLAG, STEPPED, OWN, EPOCH, PASSED = range(12, 24)
ENTER, LEAVE = 32, 64  # of a declared phase: and its index
LAG = 100_000_000  # records of short steps are published together, while the code for it is in the processor's caches
MANY = 4096
TABLE = [OTHER] * 256
for first, second, which in [
        (D0, D1, DATA_), (D0, X, DATA_), (D1, F0, PREPARE), (O1, F0, PREPARE), (B1, F0, PREPARE), (X, F0, PREPARE), (F0, F1, FORWARD),
        (F1, B0, LOSS), (F1, F0, LOSS), (B1, B0, LOSS), (F1, D0, LOSS), (D1, B0, FORWARD), (O1, B0, FORWARD), (B0, B1, BACKWARD), (B1, O0, CLIP),
        (O0, O1, OPTIMIZER), (O0, F0, OPTIMIZER), (O0, B0, OPTIMIZER), (D0, D0, DATA_), (D1, D1, DATA_), (B0, G, BACKWARD), (G, G, BACKWARD), (G, B1, BACKWARD)]:
    TABLE[first << 4 | second] = which
SO_FAR = [DATA_, PREPARE, LOSS, BACKWARD, OPTIMIZER, OTHER, BACKWARD, OTHER, FORWARD, CLIP, OTHER, OTHER]
MODEL_PHASES = ["prepare", "forward", "loss", "backward", "clip", "optimizer", "other"]  # all but data: one reaches the next through the allocator
NANS = array.array("d", [math.nan] * MOST_SERIES)
ZEROS, NO_TIMES = [0] * MOST_PHASES, array.array("q", [-1] * MOST_PHASES)
RECORD = struct.Struct("<BBHHHqqqIIIId16q").pack_into  # of a step, from its kind to its phases


class Knob:
    """A setting of the loop. apply puts a value in force or raises; values are text in documents."""

    def __init__(self, key, values, value, apply, touches=MODEL_PHASES, help="", price="cheap", compared=(), exact=False, why="",
                 refused=None, low=None, high=None, integer=False, declared=False):
        self.key, self.values, self.value, self.apply, self.why = key, values, value, apply, why
        self.refused, self.low, self.high, self.integer = refused or {}, low, high, integer
        self.doc = {"key": key, "help": help, "touches": list(touches), "price": price, "compared": list(compared), "exact": exact, "declared": declared}
        self.doc.update({"type": "number", "low": low, "high": high, "integer": integer} if values is None else
                        {"type": "bool" if values == ["off", "on"] else "choice", "values": values, "refused": self.refused})

    def describe(self):
        return dict(self.doc, value=self.value, why=self.why)

    def check(self, value):
        """Raises ValueError with the reason why a value cannot be in force."""
        if self.why or value in self.refused:
            raise ValueError(self.why or self.refused[value])
        if self.values is None:
            number = float(value)
            if not self.low <= number <= self.high or self.integer and number != int(number):
                raise ValueError(f"must be {'a whole number ' if self.integer else ''}from {self.low} to {self.high}")
        elif value not in self.values:
            raise ValueError("must be one of " + ", ".join(self.values))


class Loop:
    """The training loop of this process. Its ring is made at the second step: a process that never trains has none."""
    __slots__ = ("due", "explicit", "live", "device", "moments", "__dict__", "__weakref__")

    def __init__(self):
        self.live, self.stopped, self.guest, self.kept = False, False, None, False
        self.phases = [{"name": n, "what": w, "tier": "found"} for n, w in FOUND]
        self.series = [{"name": "loss", "title": "loss", "unit": "", "better": "less", "group": "losses", "each": True}]
        self.caches, self.pictures, self.knobs, self.truths, self.shown = [], [], {}, {}, {}
        self.item, self.quality, self.explicit, self.ranges = "item", "", False, None
        self.epochs, self.evaluates, self.sums, self.attached = 0, -1, False, False
        self.moments = []  # pairs of a code and a time or another value, which fold() takes apart; always this list
        self.forget()

    def forget(self):
        """Becomes the loop of a process that has not trained yet: at the start, and in a child of fork."""
        self.ring, self.thread, self.due = None, None, 0
        self.moments.clear()
        self.acc, self.values, self.last, self.inside, self.world = ZEROS[:], array.array("d", NANS), O1, [], 1
        self.step = self.ticks = self.generation = self.warm = self.forked = self.blind = self.evaluated = self.unit_steps = 0
        self.batch_items, self.unit_items, self.block, self.unit, self.place = 0.0, 0.0, NO_BLOCK, -1, -1
        self.source = self.epoch = self.received = self.told = self.plan = self.device = self.proposed = None
        self.usual = self.dirty = self.habit = self.logged = self.fresh = self.exhausted = self.pausing = self.timed = False
        self.warming, self.after, self.lease, self.early, self.began, self.watch, self.wanted = 2, {}, 0, NANS, {}, "all", "all"
        self.next_look = self.next_memory = self.stop_at = 0
        self.newest, self.passed = {}, {}  # pictures that came too soon after another to be shown, and their steps
        self.clear(now())
        if self.guest is not None:
            self.guest.forget()

    def clear(self, t):
        """Begins a step."""
        self.acc[:] = ZEROS
        self.start = self.mark = t
        self.flags = self.forked
        self.losses = self.passes = self.backwards = self.spent = 0
        self.loss_sum = self.items = 0.0

    # ---- moments ----

    def event(self, code):
        """A moment. What can wait is done by fold()."""
        try:
            self.moments += code, now()
            if self.timed or self.ranges is not None or len(self.moments) > MANY:
                self.fold()
            if self.ranges is not None:
                self.ranges.begin(self.phases[self.inside[-1] if self.inside else SO_FAR[self.last]]["name"], 1)
        except Exception as e:
            self.stop(e)

    def note(self, code, value):
        """Something about the step that is under way."""
        self.moments += code, value

    def fold(self):
        """Takes the moments apart: the interval between two goes to a phase, and a step that is over becomes a record."""
        m, acc, inside, device = self.moments[:], self.acc, self.inside, self.device if self.timed else None
        self.moments.clear()
        plain = (lambda m, at: at) if self.guest is None else self.guest.plain
        at = plain(m, 0)
        while at < len(m):
            code, value, at = m[at], m[at + 1], at + 2
            if code <= CLOSURE:
                moment = code if code <= X else F0 if code == NO_GRAD else B1
                which = inside[-1] if inside else TABLE[self.last << 4 | moment]
                acc[which] += value - self.mark
                self.mark, self.last = value, moment
                if device is not None:
                    device.mark(which)
                if self.logged and not (self.passes or self.losses) and (code == D1 or code == F0 and not (self.batch_items or self.explicit)):
                    self.logged_between()
                if code < F0:
                    continue
                if code == B1:
                    self.backwards += 1
                elif code == F0:
                    if self.evaluates in inside:
                        self.flags |= EVALUATION
                        self.batch_items = 0.0
                        continue
                    self.passes += 1
                    self.items += self.batch_items
                    self.batch_items = 0.0
                    self.source = self.received
                elif code == E0:
                    self.flags |= EVALUATION
                    self.batch_items = 0.0
                elif code == X:
                    self.exhausted = True
                elif code == CLOSURE:
                    self.backwards += 1
                    self.last = O0  # what follows a closure's backward is the optimizer's
            elif code == STEPPED:
                self.end_step()
                self.exhausted, at = False, plain(m, at)
            elif code == LOST:
                if self.habit and self.last == O1 and not self.losses and self.watch != "all" and not self.explicit:  # no other moment says where a step begins
                    self.logged_between()
                self.loss_sum += value
                self.losses += 1
            elif code == BATCH:
                self.batch_items += value[0]  # a loop may fetch several before it uses them
                self.received = value[1:]
            elif code == OWN:
                self.cut(OTHER, value)
                self.spent = value - self.start
            elif code == FLAG:
                self.flags |= value
            elif code == LOGGED:
                self.values[value[0]] = value[1]
                self.logged = True
            elif code == ITEMS:
                self.items = self.items + self.batch_items if value is None else value
                self.batch_items = 0.0
            elif code == EPOCH:
                self.logged_between()
                self.early = NANS if self.end_unit(self.mark, self.early) else self.early
                self.told, self.fresh = value, value is not None
            elif code == PASSED:
                self.passed[value] = self.step
            elif code == PLACE:
                self.source = self.received = value
            elif code < LEAVE:
                self.cut(inside[-1] if inside else SO_FAR[self.last], value)
                inside.append(code - ENTER)
                if code - ENTER == self.evaluates:
                    self.flags |= EVALUATION
            elif inside and inside[-1] == code - LEAVE:
                self.cut(inside.pop(), value)
                if code - LEAVE == self.evaluates:
                    self.batch_items = 0.0

    def logged_between(self):
        """Gives what was logged since the last step to that step, except a loss."""
        if self.logged and self.step and any(v == v for v in self.values[1:]):
            self.habit |= self.watch == "all" and not self.exhausted
            self.early = array.array("d", [math.nan] + [e if v != v else v for e, v in zip(self.early[1:], self.values[1:])])
            self.values[1:] = NANS[1:]
            self.logged = self.values[0] == self.values[0]

    def cut(self, which, t):
        """Ends an interval of a phase."""
        self.acc[which] += t - self.mark
        self.mark = t
        if self.timed:
            self.device.mark(which)

    def stop(self, error):
        """Takes everything back after an exception of ours. The training goes on as if prismtop were not there."""
        if not self.live:
            return
        text = f"stopped watching: {type(error).__name__}: {error}"
        self.live = False
        try:
            sys.stderr.write(f"prismtop: {text}\n")
            if self.ring is not None:
                self.ring.put(TEXT, self.step, now(), [("q", 32, 3)], text)
        except Exception:
            pass
        self.retire()

    def retire(self):
        """Takes every patch back, for good."""
        self.live, self.stopped, self.pausing = False, True, False
        if self.guest is not None:
            self.guest.back()
        ring, self.ring = self.ring, None
        if ring is not None:
            ring.state(STOPPED)
        if self.attached:
            os.environ.pop("PRISMTOP_LOOP", None)

    def over(self):
        """The loop's step is over, at the last moment. Most steps go on at once."""
        t = self.moments[-1] if self.moments else now()
        self.note(STEPPED, t)
        if self.live and t >= self.due:
            self.turn()

    def turn(self):
        """A boundary at which records go out and settings are looked at; what this takes belongs to the next step's phase other."""
        if self.guest is not None and self.guest.new_compilations():
            self.moments[-2:-2] = FLAG, COMPILED  # of the step that is over, which a compiler makes long enough for a boundary
        self.count()
        self.fold()
        if self.ring is None:
            self.begin()
        else:
            self.between(self.start)
            if self.pausing:
                self.pause()
        if self.guest is not None:
            self.guest.settle()
        if self.ranges is not None:
            self.ranges.begin(f"step {self.step}", 0)
        t = now()  # where something is switched or measured, or what is in force changes at a step, every boundary is one
        self.due = 0 if self.plan or self.proposed or self.stop_at > self.step or self.ranges or self.guest and (self.guest.extra.trace or not self.guest.hot()) else t + LAG
        self.note(OWN, t)
        if self.timed:
            self.fold()  # the device's time begins here

    def end_step(self):
        """A step's record goes out."""
        t, r = self.mark, self.ring
        if r is None:
            return
        acc, flags, source, kind, begins, loss, logged = self.acc, self.flags, self.source, 0, False, math.nan, self.logged
        if source is not None:
            begins = source[0] != self.epoch or source[1] < self.place
            self.epoch, self.place = source
        if self.told is not None:
            begins, self.fresh = self.fresh, False
        if not (begins and self.end_unit(t, self.early)) and self.early is not NANS:
            self.tell(self.step - 1, -1, 0, 0.0, self.early)
        if begins:
            self.unit = self.unit + 1 if self.told is None else self.told
            flags |= FIRST
            kind = 2
        if self.unit >= 0:
            self.unit_steps += 1
            self.unit_items += self.items
        if flags & EVALUATION:
            self.evaluated += 1
            kind = kind if self.usual else 1
        kind = 3 if flags & COMPILED else kind
        if self.losses:
            loss = self.loss_sum if self.sums else self.loss_sum / self.losses
            if loss - loss != 0:
                flags |= NONFINITE
        if self.warm > 0:
            flags |= SETTLING
            self.warm -= 1
        if self.watch != "all":
            flags |= THIN
            acc[:] = ZEROS
            acc[OTHER] = t - self.start
        RECORD(r.scratch, 8, STEP, kind, flags, min(self.passes, 0xFFFF), min(self.backwards, 0x7FFF), self.step, self.start, t - self.start, self.generation, self.block,
               self.unit & 0xFFFFFFFF, self.unit_steps - 1 & 0xFFFFFFFF, self.items, *acc)
        r.q[64] = self.spent
        if logged:
            r.d[40:64] = self.values
        if self.losses or not logged:
            r.d[40] = loss
        r.publish(r.scratch) if self.device is None else self.device.end(r)
        if logged:
            self.values[:] = NANS
            r.d[40:64] = NANS
            self.logged = False
        self.early = NANS
        self.blind = self.blind + 1 if self.backwards and not self.passes and not flags & THIN else 0
        if self.blind == 8:
            self.due = 0  # the program went on to another model, which is looked for at a boundary
        self.step += 1
        if self.plan and not flags & SETTLING and (self.world > 1 or not (kind or flags & (SKIPPED | COMPILED | SLOWED))):
            self.plan.done += 1  # what is plain on one rank may not be on another
        if self.step == 32:
            self.usual = self.evaluated > 16  # an evaluation in most steps is part of the step: a teacher's forward pass
        self.clear(t)

    def end_unit(self, t, values):
        """An epoch is over; values are those logged since its last step. Whether there was one."""
        told = self.ring is not None and self.unit >= 0 and self.unit_steps > 0
        if told:
            self.tell(self.step - 1, self.unit, self.unit_steps, self.unit_items, values, t)
        self.unit_steps, self.unit_items = 0, 0.0
        return told

    def tell(self, step, unit, steps, items, values, t=None):
        self.ring.put(UNIT, step, t or now(), [("ii", 48, unit, steps), ("d", 56, items), (f"{MOST_SERIES}d", 320, *values)])

    def between(self, t):
        """Everything that is not part of every boundary."""
        r = self.ring
        if self.proposed:
            self.decide()
        elif r.words[16] != r.seen:
            self.receive()
            if self.ring is None:
                return
        if self.plan and self.plan.done >= self.plan.length:
            self.next_block()
        if self.step == self.stop_at:
            self.pausing = True
        if t > self.next_look:
            self.next_look = t + 100_000_000
            if self.lease and now() - r.words[18] > self.lease:
                self.lease, self.plan = 0, None
                if self.guest is not None:
                    self.guest.extra.unwatched()
                self.put(self.after, self.generation, self.block, LEASE_OVER)
            watched = now() - max(r.words[18], r.made) < 5_000_000_000  # without a reader only boundaries are watched
            self.rewatch(self.wanted if watched or self.plan else "boundaries")
            if self.guest is not None and t > self.next_memory and r.watched():
                self.slowly(t)
        if self.guest is not None:
            self.guest.boundary(self.step, self.blind)
            self.guest.extra.boundary(t)
        if self.dirty:
            self.greet()

    # ---- what the program declares ----

    def declared_step(self, items):
        """A step that the program says is over, or that steps() has gone through."""
        if not active():
            return
        try:
            self.explicit = True
            self.note(ITEMS, items)
            self.event(X)
            self.ticks += 1
            if self.ring is not None or self.ticks > 1:
                self.over()
        except Exception as e:
            self.stop(e)

    def add(self, knob):
        """Adds a knob; with one that is there already, the newer takes its place."""
        self.knobs[knob.key] = knob
        if self.ring is not None:
            self.locked(knob)
        self.dirty = True

    def entry(self, entries, most, name, make):
        """The index of the entry of a name, which is made if it is new; -1 if there is no room for it."""
        names = [entry["name"] for entry in entries]
        if name not in names and len(names) < most:
            names.append(name)
            entries.append(make(name))
            self.dirty = True
        return names.index(name) if name in names else -1

    def log(self, values):
        try:
            for name, value in values.items():
                at = self.entry(self.series, MOST_SERIES, identifier(name), series)
                if at < 0:
                    continue
                if self.series[at]["better"] == "more":
                    self.quality = self.quality or self.series[at]["name"]
                if self.device is not None and getattr(value, "is_cuda", False) and value.numel() == 1:
                    self.device.copy(at, value)
                else:
                    self.note(LOGGED, (at, float(value)))
        except Exception as e:
            self.say(f"{type(e).__name__}: {e}", 1)

    def picture(self, name, pixels, last=False):
        try:
            at = self.entry(self.pictures, MOST_PICTURES, name, lambda n: {"name": n, "live": n != "truth"})
            (when, generation), t = self.shown.get(at, (0, 0)), now()
            self.newest.pop(at, None)
            if at < 0 or not self.ring.watched():
                return
            if t - when < 500_000_000 and not last:
                self.newest[at] = name, pixels.detach() if hasattr(pixels, "detach") else pixels  # without the graph that it would keep
                return self.note(PASSED, at)
            self.shown[at] = t, generation + 1
            self.fold()
            values, width, height = grey(pixels)
            body, path = values.tobytes(), f"{self.ring.path}.picture{at}"
            with open(path + ".new", "wb", opener=lambda p, f: os.open(p, f, 0o600)) as f:
                f.write(struct.pack("<8sqIIII", b"PRSMPICT", self.step, width, height, generation + 1, zlib.crc32(body)) + body)
            os.replace(path + ".new", path)
            self.ring.put(PICTURE, self.step, t, [("IIII", 48, at, width, height, generation + 1)])
            if name in self.truths:
                truth, *shape = grey(self.truths[name])
                if shape != [width, height]:
                    raise ValueError(f"the truth is {shape[0]}x{shape[1]}, and the picture {name} {width}x{height}")
                error = sum((a - b) ** 2 for a, b in zip(values, truth)) / len(truth)
                self.log({"psnr_db": math.inf if error == 0 else 10 * math.log10(max(map(abs, truth)) ** 2 / error)})
                self.picture("truth", self.truths[name], last)
        except Exception as e:
            self.say(f"{type(e).__name__}: {e}", 1)

    # ---- settings ----

    def receive(self):
        got = self.ring.settings()
        if got is None:
            return
        import json
        generation, text = got
        try:
            asked = Asked(json.loads(text))
            if asked.doc.get("detach"):
                return self.detach(generation)
            if self.world > 1 and (asked.sets or asked.after or asked.plan):
                asked.proposal = importlib.import_module("prismtop_ranks").Proposal(self.ring, asked.doc, self.step)
        except Exception as e:
            return self.answer(generation, NO_BLOCK, now(), 0, NOT_UNDERSTOOD, {"": str(e) or type(e).__name__})
        if asked.proposal is None:
            return self.obey(asked, generation)
        refused = {"": f"step {asked.proposal.start} is over"} if asked.proposal.late else {}
        for sets in [asked.sets, asked.after] + (asked.plan.arms if asked.plan else []):
            self.set(sets, refused, False)
        if not refused:
            self.proposed = asked, generation
        self.answer(generation, NO_BLOCK, now(), 0, READY, refused)

    def decide(self):
        """At the step of a proposal, all ranks of a machine find the same decision."""
        asked, generation = self.proposed
        if self.step < asked.proposal.start:
            return
        self.proposed = None
        if asked.proposal.agreed():
            self.obey(asked, generation)
        else:
            self.answer(generation, NO_BLOCK, now(), 0, CANCELLED, {})

    def obey(self, asked, generation):
        """Puts what a document asks for in force."""
        doc, sets, plan = asked.doc, asked.sets, asked.plan
        self.wanted = doc.get("watch", "all")
        refused = self.rewatch(self.wanted)
        if self.plan:
            sets = dict(self.after, **sets)
        self.plan, self.after, self.warming = plan, asked.after, asked.warm
        self.lease = asked.lease if self.world == 1 else 0  # it would run out at another step on each rank; a schedule ends by itself
        self.pausing, self.stop_at = bool(doc.get("pause")), self.step + (int(doc.get("pause_after", 0)) or -1)
        if plan:
            sets.update(plan.arms[plan.order[0]])
        if self.guest is not None:
            refused.update(self.guest.extra.asked(doc))
        self.put(sets, generation, 0 if plan else NO_BLOCK, DONE, refused)

    def detach(self, generation):
        """The reader asks that everything is taken back, what was switched, too."""
        if self.guest is not None:
            self.guest.extra.unwatched()
        self.plan, self.lease = None, 0
        self.put(self.began, generation, NO_BLOCK, DONE)
        self.retire()

    def next_block(self):
        plan = self.plan
        plan.block += 1
        plan.done = 0
        if plan.block < len(plan.order):
            self.put(plan.arms[plan.order[plan.block]], self.generation, plan.block, DONE)
        else:
            self.plan, self.lease = None, 0
            self.put(self.after, self.generation, NO_BLOCK, SCHEDULE_OVER)

    def put(self, sets, generation, block, result, refused=None):
        """Puts values in force. An error leaves a knob's old value; it never reaches the program."""
        t, refused = now(), dict(refused or {})
        if self.set(sets, refused, True) or self.plan:
            self.warm = self.warming
        self.generation, self.block = generation, block
        self.answer(generation, block, t, now() - t, PARTLY if refused and result == DONE else result, refused)

    def set(self, sets, refused, apply):
        """Applies values, or only looks whether they can be; those that cannot get a reason in refused. Whether any is another."""
        others = False
        for key, value in sets.items():
            try:
                if key not in self.knobs:
                    raise ValueError("the loop has no such knob")
                knob = self.knobs[key]
                if value != knob.value:
                    others = True
                    knob.check(value)
                    if apply:
                        knob.apply(value)
                        knob.value = value
            except Exception as e:
                refused[key] = str(e) or type(e).__name__
        return others

    def answer(self, generation, block, at, took, result, refused):
        import json
        while len(text := json.dumps(refused) if refused else "") > 504:
            longest = max(refused, key=lambda k: len(refused[k]))
            refused[longest] = refused[longest][:len(refused[longest]) // 2]
            if not refused[longest]:
                del refused[longest]
        r = self.ring
        r.words[10] = generation
        struct.pack_into("<q", r.map, 88, self.step)
        r.put(ANSWER, self.step, at, [("q", 32, took), ("III", 40, generation, block, result)], text)

    def rewatch(self, watch):
        """Takes the patches off, or puts them on again, so that their cost can be measured by blocks."""
        if watch == self.watch:
            return {}
        why = self.guest.needed() if self.guest is not None and watch != "all" else ""
        if why:
            return {"watch": why}
        self.watch = watch
        for p in self.guest.patches if self.guest is not None else []:
            if p.name != "__iter__":  # by which a step is placed meanwhile
                p.put() if watch == "all" else p.take(watch == "losses" and (p.name == "backward" or len(self.series) > 1))
        self.warm = max(self.warm, self.warming)
        return {}

    def pause(self):
        """Waits at the boundary until the reader says otherwise, or is gone."""
        while self.pausing and self.ring is not None and self.ring.watched():
            time.sleep(0.02)
            if self.ring.words[16] != self.ring.seen:
                self.receive()
        self.pausing = False
        self.start = self.mark = now()  # a pause is part of no step

    # ---- what is said now and then ----

    def begin(self):
        """Makes the ring, at the second step."""
        rank, self.world = (0, 1) if self.guest is None else self.guest.ranks()
        self.ring = Ring(os.environ["PRISMTOP_LOOP"], rank, self.world)
        self.thread = thread()
        self.ring.q[24:40] = NO_TIMES
        self.ring.d[40:64] = NANS
        if self.guest is not None:
            self.guest.begin()
        for knob in self.knobs.values():
            self.locked(knob)
        self.began = {knob.key: knob.value for knob in self.knobs.values()}
        self.ring.words[12] = now()
        self.greet()
        self.ring.state(TRAINING)
        self.values[:] = NANS
        if self.source is not None:
            self.epoch, self.place, self.unit = *self.source, 0
        if self.told is not None:
            self.unit, self.fresh = self.told, False
        self.clear(now())

    def locked(self, knob):
        if os.environ.get("PRISMTOP_LOOP_ONLY_WATCH") == "1":
            knob.why = "prismtop was told only to watch"
        elif self.world > 1 and not knob.why:
            knob.why = importlib.import_module("prismtop_ranks").ALONE.get(knob.key, "")

    def greet(self):
        self.dirty = False
        doc = {"format": FORMAT, "script": os.path.basename(sys.argv[0] if sys.argv else ""), "argv": [a[:200] for a in sys.argv[:40]],
               "directory": os.getcwd()[-200:], "python": sys.version.split()[0], "clock": "host" if self.device is None else "device", "attached": self.attached, "kept": self.kept,
               "unit": {"one": "epoch", "many": "epochs", "total": self.epochs}, "item": {"one": self.item, "many": self.item + "s"},
               "kinds": [{"name": "step"}, {"name": "step with evaluation", "aside": True}, {"name": "first step of an epoch", "aside": True},
                         {"name": "step that compiles", "aside": True}],
               "phases": self.phases, "series": self.series, "quality": self.quality, "pictures": self.pictures,
               "caches": [{"name": c.name, "title": c.title, "what": c.what, "setting": c.knob.key} for c in self.caches],
               "able": {"layers": "the loop has no PyTorch", "fork": "the loop has no PyTorch", "pause": "several ranks wait for each other" if self.world > 1 else ""},
               "knobs": [k.describe() for k in list(self.knobs.values())[:MOST_KNOBS]]}
        if self.guest is not None:
            self.guest.describe(doc)
        self.ring.greet(doc)

    def slowly(self, t):
        """Once a second, while somebody watches, or more rarely where counting memory takes long."""
        begun = now()
        parts, card = self.guest.extra.memory()
        self.next_memory = t + max(1_000_000_000, 2000 * (now() - begun))
        self.ring.put(MEMORY, self.step, t, [("16q", 64, *(parts + [-1] * 16)[:16]), ("16q", 192, *(card + [-1] * 16)[:16])])

    def count(self):
        """Publishes the counters of caches, before the steps that wait to be published: those have them."""
        if self.caches and self.ring is not None:
            for i, c in enumerate(self.caches):
                self.ring.put(COSTS, self.step, now(), [("II", 48, i, len(c.costs)), ("d", 56, c.squares), (f"{len(c.costs)}q", 64, *c.costs)])
            self.ring.put(CACHES, self.step, now(), [(f"{7 * len(self.caches)}q", 64, *(n for c in self.caches for n in c.numbers()))])

    def say(self, text, level=0):
        if self.ring is not None:
            self.fold()
            self.ring.put(TEXT, self.step, now(), [("q", 32, level)], text)

    def finish(self):
        """At the interpreter's exit."""
        if self.ring is None:
            return
        try:
            self.count()
            self.fold()
            for at, (name, pixels) in list(self.newest.items()):
                step, values, logged = self.passed[at], self.values[:], self.logged
                earlier = step < self.step - 1
                if earlier:
                    self.values[:] = NANS
                self.picture(name, pixels, True)
                self.fold()
                if earlier:  # what was compared is of that step, not of the last
                    self.tell(step, -1, 0, 0.0, self.values)
                    self.values[:], self.logged = values, logged
            over = self.exhausted if self.guest is None or self.explicit else self.guest.epoch_over()
            self.logged_between()
            if not (over and self.end_unit(self.mark, self.early)) and self.early is not NANS:  # of no epoch
                self.tell(self.step - 1, -1, 0, 0.0, self.early)
            if self.dirty:
                self.greet()
            if self.device is not None:
                self.device.flush(self.ring)
            self.ring.state(OVER if isinstance(getattr(sys, "last_value", None), (type(None), KeyboardInterrupt)) else FAILED)
        except Exception as e:
            self.stop(e)


class Asked:
    """A document of settings, with its schedule: arms of settings by blocks. It raises an exception where it makes no sense."""

    def __init__(self, doc):
        plan = doc.get("schedule")
        self.doc, self.proposal, self.plan, self.lease = doc, None, None, int(doc.get("lease_ms", 0)) * 1_000_000
        self.sets, self.after, self.warm = checked(doc.get("set", {})), checked(doc.get("after", {})), int(doc.get("warm", 2))
        if plan:
            self.plan = types.SimpleNamespace(arms=[checked(a) for a in plan["arms"]], order=[int(i) for i in plan["order"]], length=int(plan["length"]), block=0, done=0)
            arms, order = len(self.plan.arms), self.plan.order
            if not 0 < arms <= 16 or not 0 < len(order) <= 4096 or not 0 < self.plan.length or not all(0 <= i < arms for i in order):
                raise ValueError("the schedule is empty or too long, or names an arm that it lacks")
        if not 0 <= self.warm <= 10000 or self.lease < 0 or doc.get("watch", "all") not in ("all", "losses", "boundaries") or doc.get("state", "") not in ("", "keep", "return", "drop"):
            raise ValueError("warm, lease_ms, watch or state is out of bounds")


def checked(sets):
    if not isinstance(sets, dict) or not all(isinstance(k, str) and isinstance(v, str) for k, v in sets.items()):
        raise ValueError("values must be an object of texts")
    return dict(sets)


def size(batch):
    """How many items a batch has: the length of its first tensor; 0 if that is not known."""
    for _ in range(4):
        if isinstance(batch, (list, tuple)) and batch:
            batch = batch[0]
        elif (shape := getattr(batch, "shape", None)) is not None:
            return float(shape[0]) if shape else 0.0
        elif hasattr(batch, "values"):
            batch = next(iter(batch.values()), None)
    return 0.0


# ---- for those who change their code --------------------------------------------------------------------------

LOOP = Loop()


def active():
    """Whether this process has a reader's folder: else every call below does nothing."""
    LOOP.live = LOOP.live or "PRISMTOP_LOOP" in os.environ and not LOOP.stopped
    return LOOP.live


class Phase:
    """A phase that the program declares. It wins over what patches would find inside it."""

    def __init__(self, name):
        at = LOOP.entry(LOOP.phases, MOST_PHASES, within(name), lambda n: {"name": n, "what": "", "tier": "declared"})
        self.index = OTHER if at < 0 else at

    def __enter__(self):
        if LOOP.ring is not None and LOOP.thread == thread():
            LOOP.event(ENTER + self.index)

    def __exit__(self, *_):
        if LOOP.ring is not None and LOOP.thread == thread():
            LOOP.event(LEAVE + self.index)


@functools.lru_cache(maxsize=None)
def phase(name):
    """A context: `with prismtop.phase("telescope"): ...`. At most eight names of one's own, beside those that are found."""
    return Phase(name)


def step(items=None):
    """Says that a step is over, in loops whose steps are not an optimizer's. Without items, it had those that a DataLoader gave meanwhile."""
    LOOP.declared_step(None if items is None else float(items))


def epoch(number=None, of=0):
    """Says that an epoch begins, counted from 0, of so many; without a number, that the last one is over."""
    if active():
        of = max(0, int(of or 0))
        if number is not None and of != LOOP.epochs:
            LOOP.epochs, LOOP.dirty = of, True
        LOOP.note(EPOCH, None if number is None else int(number))


def evaluation():
    """A context: what happens in it is an evaluation, and its step a step with evaluation."""
    context = phase("evaluation")
    LOOP.evaluates = context.index
    return context


def accumulates():
    """Says that the losses of a step's several backward passes add up to the step's loss, as where each is divided by their number."""
    LOOP.sums = True


def steps(batches, items="items"):
    """Goes through batches: each is a step, and the wait for it is the phase data."""
    if not active():
        yield from batches
        return
    LOOP.item, LOOP.explicit = within(items[:-1] if items.endswith("s") else items), True
    iterator, token = iter(batches), object()
    for n in itertools.count(1):
        LOOP.event(D0)
        try:
            batch = next(iterator)
        except StopIteration:
            return LOOP.event(X)
        LOOP.event(D1)
        LOOP.note(PLACE, (id(token), n))
        yield batch
        LOOP.declared_step(size(batch))


def knob(key, value, values=None, low=None, high=None, touches=(), help="", price="cheap", compared=(), exact=False):
    """A knob of the program: read `.value` where it is used. bool, a choice (values), or a number with bounds."""
    box = types.SimpleNamespace(value=value)
    kind = type(value)
    if kind is bool:
        values, read = ["off", "on"], lambda v: v == "on"
    elif values is not None:
        table = {str(v): v for v in values}
        values, read = list(table), table.__getitem__
    elif low is None or high is None or not low < high:
        raise ValueError(f"{key}: a number needs low and high, and low must be less")
    else:
        read = (lambda v: int(float(v))) if kind is int else float
    text, compared = ("on" if value else "off") if kind is bool else str(value), [str(c) for c in compared]
    check_values(key, values, text, compared, price)
    LOOP.add(Knob(within(key), values, text, lambda v: setattr(box, "value", read(v)), touches,
                  within(help, 200), price, compared, exact, low=low, high=high, integer=kind is int, declared=True))
    return box


def cache(function=None, *, title=None, what="", key=None, most=128):
    """A decorator that keeps a function's results by its arguments, or by key(arguments). A function with
    functools.lru_cache keeps its own cache, which is counted and switched. Arguments must be hashable; a tensor needs a key."""
    if function is None:
        return lambda f: cache(f, title=title, what=what, key=key, most=most)
    return importlib.import_module("prismtop_cache").Cache(function, title or function.__name__, what, key, most)


def log(**values):
    """Values of this step for the screen: `prismtop.log(psnr=value)`. A device's tensors are copied without waiting."""
    if LOOP.ring is not None:
        LOOP.log(values)


def picture(name, array):
    """Shows a picture (rows and columns; channels are averaged), at most twice a second and only while somebody watches; the
    newest also at the program's end. One on a device is copied to the host, which waits for it."""
    if LOOP.ring is not None and LOOP.thread == thread():
        LOOP.picture(within(name), array)


def compare(truth, name="reconstruction"):
    """Compares the picture of that name with the truth where it is shown from now on: the series psnr_db."""
    LOOP.truths[within(name)] = truth


def __getattr__(name):
    """The callbacks for frameworks, which are loaded when they are asked for."""
    if name not in ("lightning", "transformers", "accelerate", "keras"):
        raise AttributeError(f"module 'prismtop' has no attribute {name!r}")
    return getattr(importlib.import_module("prismtop_frameworks"), name)


# ---- the beginning --------------------------------------------------------------------------------------------

class Watch:
    """Waits for the program to import torch."""

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        execute = getattr(getattr(spec, "loader", None), "exec_module", None)
        if execute is not None:
            def exec_module(module):
                execute(module)
                install(module)
            spec.loader.exec_module = exec_module
        return spec


def install(torch):
    """Patches PyTorch. Never the reason that a program does not start."""
    if LOOP.guest is None:
        try:
            importlib.import_module("prismtop_torch").Guest(LOOP, torch)
        except Exception as e:
            LOOP.live = True
            LOOP.stop(e)


if "PRISMTOP_LOOP" in os.environ:
    if os.environ.get("PRISMTOP_LOOP_KEEP_MEMORY") == "1":
        LOOP.kept = importlib.import_module("prismtop_malloc").begin()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=LOOP.forget)
    atexit.register(LOOP.finish)
    if getattr(sys.modules.get("torch"), "optim", None) is not None:
        install(sys.modules["torch"])
    else:
        sys.meta_path.insert(0, Watch())
