"""What prismtop patches in PyTorch, loaded once a program imports it: the moments of a step, found without code.

The optimizers' hooks (official), torch.autograd.backward, the DataLoader's iterator, the gradient scaler, and the __call__ of
the classes of the models that the loop calls itself. No submodule is touched, and nothing is put into a model, so that a
saved or copied model carries nothing of this.
"""
import _thread
import array
import collections
import functools
import importlib
import os
import struct
import sys
import threading
import time
import weakref

from prismtop import B0, B1, BATCH, CLOSURE, D0, D1, E0, E1, ENTER, F0, F1, FLAG, LEAVE, LOST, MANY, MOST_PHASES, NO_GRAD, O0, O1, OTHER, OWN, PLACE, STEPPED, X, ZEROS, size
from prismtop_ring import GIVEN_UP, RUN, SKIPPED

now = time.monotonic_ns
thread = threading.get_ident
HERE = os.path.dirname(os.path.abspath(__file__))
PLAIN = [D0, D1, BATCH, F0, F1, B0, B1, O0, O1, LOST, STEPPED]  # what the short way notes of a step
RUNS = [(n, PLAIN * n, struct.Struct("<BBHIqqqIIIIq" + n * "8q2d").pack_into) for n in (6, 1)]  # so many such steps go into a record
BACKWARD = ("tensors", "grad_tensors", "retain_graph", "create_graph", "grad_variables", "inputs")  # parameters of torch.autograd.backward since 2.0


def unseen(error):
    """Leaves the frames of these files out of an exception's traceback, and of those that led to it: a program ends with its own."""
    seen = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        frames, at = [], error.__traceback__
        while at is not None:
            folder, name = os.path.split(at.tb_frame.f_code.co_filename)
            if folder != HERE or not name.startswith(("prismtop.", "prismtop_", "sitecustomize.")):  # beside a program there are its own
                frames.append(at)
            at = at.tb_next
        for frame, following in zip(frames, frames[1:] + [None]):
            frame.tb_next = following
        error.__traceback__ = frames[0] if frames else None
        error = error.__cause__ or error.__context__


NAMED = "_prismtop"  # attribute of a DataLoader's iterator: its number


def batches(iterator):
    """How many batches an iterator of a DataLoader has; None if it does not know."""
    try:
        return len(iterator)
    except (TypeError, NotImplementedError):
        return None


class Patch:
    """A place that is patched: the attribute of an owner, and what was there."""

    def __init__(self, owner, name, make):
        self.owner, self.name = owner, name
        self.own = name in vars(owner)
        self.original = getattr(owner, name)
        self.ours = functools.wraps(self.original)(make(self.original))
        self.ours._torchdynamo_disable = True  # a compiler calls it and does not trace it
        self.quiet = getattr(self.ours, "quiet", self.ours)  # what stays while phases are not timed
        self.quiet._torchdynamo_disable = True
        self.put()

    def put(self):
        setattr(self.owner, self.name, self.ours)

    def take(self, losses=False):
        """Puts back what was there, or where losses are still read what reads them, unless somebody else has patched the place since: then
        ours only passes on."""
        if vars(self.owner).get(self.name) in (self.ours, self.quiet):
            if losses and self.quiet is not self.ours:
                setattr(self.owner, self.name, self.quiet)
            elif self.own:
                setattr(self.owner, self.name, self.original)
            else:
                delattr(self.owner, self.name)


class Guest:
    """The patches of a loop, and what is known of its models and optimizers. Every method that a patch calls is inside a
    guard: the first exception takes all patches back (Loop.stop)."""
    __slots__ = ("in_step", "depth", "leader", "root", "foreign", "lost_inside", "owed", "version", "whole", "__dict__", "__weakref__")  # the short way reads these cold

    def __init__(self, loop, torch):
        loop.guest, loop.live = self, True
        self.loop, self.torch, self.add = loop, torch, loop.moments.extend
        self.lock = _thread.RLock()  # the training thread owns it while the patches take the short way: to ask for that takes less than a thread's number
        self.hot = self.lock._is_owned
        self.missing, self.kind, self.patches, self.handles = [], "cpu", [], []
        self.amp, self.amp_on, self.own_autocast, self.roots = "as written", None, False, {}  # the models, by identity: always this table
        self.forget()
        self.last_words = Patch(sys, "excepthook", self.make_excepthook)
        self.before_step, self.after_step = self.make_hooks()
        from torch.optim import optimizer
        for register, hook in ((optimizer.register_optimizer_step_pre_hook, self.before_step), (optimizer.register_optimizer_step_post_hook, self.after_step)):
            self.handles.append(register(hook))
        data, scaler = "torch.utils.data.dataloader", "torch.amp.grad_scaler"
        for module, owner, name, make in [("torch.autograd", None, "backward", self.make_backward), (data, "_BaseDataLoaderIter", "__next__", self.make_next),
                                          (data, "DataLoader", "__iter__", self.make_iter), (scaler, "GradScaler", "scale", self.make_scale),
                                          (scaler, "GradScaler", "step", self.make_scaled_step)]:
            try:
                place = importlib.import_module(module)
                self.patches.append(Patch(getattr(place, owner) if owner else place, name, make))
            except (ImportError, AttributeError):
                self.missing.append(f"{module}.{owner + '.' if owner else ''}{name}")

    def forget(self):
        """For a child of fork: it may train a model of its own."""
        self.roots.clear()
        self.loaders, self.undo_discovery, self.searches, self.until = {}, None, 0, -1
        self.made, self.lengths = 0, {}  # of the DataLoaders' iterators, in batches, as far as they are known
        self.leader, self.counts, self.optimizers, self.taken, self.foreign, self.newest = 0, {}, [], 0, 0, 0
        self.depth, self.in_step, self.scaled, self.scaler, self.compiled, self.extra = 0, False, None, None, 0, None
        self.lost_inside = False  # the loss of the closure's first pass is known
        self.owed, self.seen, self.version = None, None, -1  # a loss that is read after the optimizer, and what _version all had; -1: they are read at once
        self.whole = 0, 0, 0.0, None  # a DataLoader's iterator by identity, how many batches it has of so many items, negative: not looked at; what notices its end
        self.last_gradient = None  # of several ranks
        self.layers = self.kept = None  # set by prismtop_knobs while something is measured or kept
        self.root = 0  # the model found last, if it is still there
        self.cool()

    def settle(self):
        """Decides whether the patches take the short way in this thread. Nothing is switched or searched then, and a moment
        costs little more than the clock. Steps that a device times take the long way."""
        loop = self.loop
        if loop.device is not None:
            loop.timed = loop.device.chosen(now(), loop.world > 1)
        short = loop.live and loop.ring is not None and not loop.timed and loop.ranges is None and self.kind in ("cpu", "cuda") and self.taken > 64 and \
            self.amp == "as written" and self.layers is self.kept is self.undo_discovery is self.scaler is None
        self.cool()
        if short:
            self.lock.acquire()

    def cool(self):
        """From now on the patches take the long way. Any thread may say so."""
        self.lock._at_fork_reinit()

    def mine(self):
        """Whether a moment is to be counted: the loop is watched, and this is the thread that trains."""
        return self.loop.live and self.loop.thread in (None, thread())

    def back(self):
        """Takes everything back. The optimizers' hooks stay while PyTorch goes through them, and are removed by the next backward."""
        self.owed = self.seen = None
        for undo in [self.cool, self.discovered, lambda: self.autocast(False), lambda: self.extra and self.extra.back(), self.last_words.take,
                     lambda: self.last_gradient and self.last_gradient.take()] + \
                [p.take for p in self.patches if not (self.in_step and p.name == "backward")]:
            try:
                undo()
            except Exception:
                pass
        if not self.in_step:
            self.unhook()

    def unhook(self):
        for handle in self.handles:
            handle.remove()
        self.handles = []
        for p in self.patches:
            p.take()

    # ---- models ----

    def discover(self, until):
        """Watches every module's call for two steps, to find those that the loop calls itself. It begins at a boundary, and each
        outermost call puts PyTorch's own back, so that submodules and a compiler see that."""
        module = self.torch.nn.Module
        original = module.__call__
        self.searches += 1
        self.until = until
        self.cool()

        def call(m, *args, **kwargs):
            module.__call__ = original
            try:
                return (type(m).__call__ if self.finds(m) else original)(m, *args, **kwargs)
            finally:
                if self.undo_discovery:
                    self.redo_discovery()

        self.undo_discovery = functools.partial(setattr, module, "__call__", original)
        self.redo_discovery = functools.partial(setattr, module, "__call__", call)
        self.redo_discovery()

    def discovered(self):
        if self.undo_discovery:
            undo, self.undo_discovery = self.undo_discovery, None
            undo()

    def finds(self, m):
        """Whether a model that is called while models are searched is one that the loop trains. Its calls are watched from then on,
        which its class's __call__ knows by identity."""
        try:
            if self.depth or not self.mine() or not self.torch.is_grad_enabled() or not m.training or id(m) in self.roots or not any(p.requires_grad for p in m.parameters()):
                return False
            roots, key, cls = self.roots, id(m), type(m)
            self.own_autocast |= hasattr(self.torch, "is_autocast_enabled") and self.torch.is_autocast_enabled()
            roots[key] = weakref.ref(m, lambda _: self.gone(key))
            self.root = key
            if not any(p.owner is cls for p in self.patches):
                # Where a model has parts of its own class, these and a compiler must see the class as it was.
                shared = any(isinstance(x, cls) and x is not m for x in m.modules())
                self.patches.append(Patch(cls, "__call__", functools.partial(self.make_call, cls, shared)))
            self.loop.dirty = True
            return True
        except Exception as e:
            self.loop.stop(e)
            return False

    def gone(self, key):
        self.roots.pop(key, None)
        if self.root == key:
            self.root = 0

    def make_call(self, cls, shared, inner):
        loop, roots, enabled, add, hot = self.loop, self.roots, self.torch.is_grad_enabled, self.add, self.hot

        def __call__(m, *args, **kwargs):
            if self.depth or id(m) != self.root and id(m) not in roots and not (self.undo_discovery and self.finds(m)):
                return inner(m, *args, **kwargs)
            if hot() and enabled() and not shared:
                try:
                    add((F0, now()))
                except Exception as e:
                    loop.stop(e)
                self.depth = 1
                try:
                    return inner(m, args[0]) if len(args) == 1 and not kwargs else inner(m, *args, **kwargs)  # to unpack them takes longer
                finally:
                    self.depth = 0
                    try:
                        add((F1, now()))
                    except Exception as e:
                        loop.stop(e)
            if not self.mine():
                return inner(m, *args, **kwargs)
            trained = self.forward_begins(m)
            patch = next(p for p in self.patches if p.owner is cls) if shared else None
            if patch:
                patch.take()
            if self.undo_discovery:
                self.undo_discovery()
            self.depth = 1
            try:
                return inner(m, *args, **kwargs)
            finally:
                self.depth = 0
                if self.undo_discovery:
                    self.redo_discovery()
                if patch and self.loop.live and self.loop.watch == "all":
                    patch.put()
                if self.loop.live:
                    self.forward_ends(trained)
        return __call__

    def forward_begins(self, m):
        """The model is called, for training or, if it is in evaluation mode and nobody wants gradients, for an evaluation."""
        loop = self.loop
        try:
            grad = self.torch.is_grad_enabled()
            trained = grad or m.training
            loop.event(F0 if grad else NO_GRAD if trained else E0)
            if grad:
                if self.amp != "as written":
                    self.autocast(True)
                if self.layers is not None:
                    self.layers.enter()
            elif not trained and self.amp_on:
                self.autocast(False)
            return trained
        except Exception as e:
            loop.stop(e)

    def forward_ends(self, trained):
        try:
            self.loop.event(F1 if trained else E1)
            if self.layers is not None:
                self.layers.leave()
        except Exception as e:
            self.loop.stop(e)

    def models(self):
        return [m for m in (r() for r in list(self.roots.values())) if m is not None]

    # ---- optimizers ----

    def make_hooks(self):
        loop, add, hot = self.loop, self.add, self.hot

        def before_step(optimizer, args, kwargs):
            try:
                if hot():
                    self.in_step, self.lost_inside = True, False
                    add((O0, now()))
                    return
                if not self.mine():
                    return
                self.in_step, self.lost_inside = True, False
                loop.event(O0)
                if self.amp_on:
                    self.autocast(False)
                found = getattr(optimizer, "found_inf", None)  # a fused optimizer skips by itself
                if found is not None and found.device.type == "cpu" and found.item():
                    loop.note(FLAG, SKIPPED)
            except Exception as e:
                loop.stop(e)

        def after_step(optimizer, args, kwargs):
            try:
                if hot() and id(optimizer) == self.leader and not loop.explicit:
                    t, loss = now(), self.owed
                    if loss is not None and loss._version == self.version:
                        self.owed = None
                        add((O1, t, LOST, loss.item(), STEPPED, t))
                    else:
                        if loop.watch != "all":
                            self.placed()
                        add((O1, t))
                        if loss is not None:
                            self.pay()
                        add((STEPPED, t))
                    if t >= loop.due:
                        loop.turn()
                    self.foreign = 0
                elif not self.mine():
                    return
                else:
                    if self.owed is not None:
                        self.pay()
                    if self.seen is not None and self.seen._version != self.version:
                        self.version = -1
                    self.seen = None
                    if loop.watch != "all":
                        self.placed()
                    loop.event(O1)
                    self.optimized(optimizer)
            except Exception as e:
                loop.stop(e)
            self.in_step = False
        return before_step, after_step

    def optimized(self, optimizer):
        """An optimizer has stepped, or its gradient scaler has skipped that. After the leader's step, the loop's step is over."""
        self.taken += 1
        key = id(optimizer)
        new = key not in self.counts
        if self.taken <= 64 or new:
            if new:
                self.optimizers.append(weakref.ref(optimizer))
                self.loop.dirty, self.newest = True, key
            self.counts[key] = self.counts.get(key, 0) + 1
            if self.taken == 1 and hasattr(self.torch, "nn"):
                self.discover(1)
            if self.taken == 64 or not self.leader and self.counts[key] == 2:
                self.elect()
        if key == self.leader:
            self.foreign = 0
            if not self.loop.explicit:
                self.loop.over()
        elif self.leader:
            if not self.foreign and not new:  # the leader has stepped since the newest is known
                self.newest = 0
            self.foreign += 1
            gone = all(id(r()) != self.leader for r in self.optimizers)
            if gone or self.foreign > (8 if key == self.newest else 64):  # the program went on to another optimizer
                self.leader, self.foreign = key, 0

    def elect(self):
        """The leader is the optimizer that steps least often; of several, the last of a round."""
        least = min(self.counts.values())
        if not self.leader:
            self.leader = list(self.counts)[-1]
        elif self.counts.get(self.leader, 0) > least + 1:
            self.leader = [key for key, n in self.counts.items() if n == least][-1]
            self.loop.warm = max(self.loop.warm, 2)

    def boundary(self, step, blind):
        """Looks at a boundary whether models are to be searched."""
        if self.last_gradient is not None:
            self.last_gradient.boundary()
        if step == self.until:
            self.discovered()
        if blind >= 8 and self.searches < 4 and not self.undo_discovery:  # the program went on to another model
            self.discover(step + 2)

    def plain(self, m, at):
        """Takes moments apart as Loop.fold does, as long as they are those of steps like nearly all: the reader makes phases of them. Where it ends."""
        loop, ring = self.loop, self.loop.ring
        if ring is None or loop.device is not None or loop.mark != loop.start or loop.last != O1 or loop.inside or loop.flags or loop.batch_items or loop.logged or \
                loop.warm or loop.plan or loop.told is not None or loop.unit < 0 or loop.step <= 32 or loop.watch != "all":
            return at
        if m[at:at + 1] == [OWN]:
            loop.cut(OTHER, m[at + 1])
            loop.spent, at = m[at + 1] - loop.start, at + 2
        epoch, last, publish, record, begun = loop.epoch, loop.place, ring.publish, ring.other, at
        generation, block, unit, count, step, start, spent = loop.generation, loop.block, loop.unit, loop.unit_steps, loop.step, loop.start, loop.spent
        for n, alike, pack in RUNS:
            while m[at:at + 22 * n:2] == alike:
                end = at + 22 * n
                items, sources, places = zip(*m[at + 5:end:22])
                values = m[at + 1:end:2]
                del values[2::11]
                values[9::10] = items
                total = sum(values[8::10])
                if sources.count(epoch) < n or not last <= places[0] <= places[-1] or total - total != 0:
                    break
                pack(record, 8, RUN, n, 0, 0, step, start, spent, generation, block, unit, count, 0, *values)
                publish(record)
                loop.unit_items += sum(items)
                count, spent, last, start, step, at = count + n, 0, places[-1], values[-3], step + n, end
        if at > begun:
            loop.clear(start)
            loop.step, loop.unit_steps, loop.place, loop.blind, loop.exhausted = step, count, last, 0, False
            loop.source = loop.received = epoch, last
        return at

    # ---- backward, data, gradient scaler ----

    def make_backward(self, original):
        loop, moments, add, hot, tensor = self.loop, self.loop.moments, self.add, self.hot, getattr(self.torch, "Tensor", None)

        def short(tensors, grad_tensors=None, retain_graph=None, create_graph=False, grad_variables=None, inputs=None):
            if self.in_step or not hot():
                return backward(tensors, grad_tensors, retain_graph, create_graph, grad_variables, inputs)
            late = False  # asked before backward: after it, all of this runs cold
            try:
                add((B0, now()))
                late = self.version >= 0 and self.owed is None and grad_tensors is None and type(tensors) is tensor and not (retain_graph or create_graph)
            except Exception as e:
                loop.stop(e)
            result = original(tensors, grad_tensors, retain_graph, create_graph, grad_variables, inputs)
            try:
                add((B1, now()))
                if late:
                    self.owed = tensors
                    return result
                if loop.device is None and grad_tensors is None and type(tensors) not in (list, tuple):  # a device's losses are those of the steps that it times
                    if self.owed is not None:  # several passes in a step
                        self.pay()
                        self.version = -1
                    add((LOST, tensors.item()))  # PyTorch has made sure that it is one number
                if len(moments) > MANY:
                    loop.fold()
            except Exception as e:
                loop.stop(e)
            return result

        def backward(tensors, *args, **kwargs):
            if not self.mine():
                if not self.loop.live:
                    self.in_step = False
                    self.unhook()
                return original(tensors, *args, **kwargs)
            try:
                self.loop.event(B0)
                if self.amp_on:
                    self.autocast(False)
            except Exception as e:
                self.loop.stop(e)
            result = original(tensors, *args, **kwargs)
            if self.loop.live:
                try:
                    self.backward_ends(tensors)
                except Exception as e:
                    self.loop.stop(e)
            return result

        def quiet(tensors, grad_tensors=None, retain_graph=None, create_graph=False, grad_variables=None, inputs=None):
            result = original(tensors, grad_tensors, retain_graph, create_graph, grad_variables, inputs)
            try:
                if loop.device is self.scaler is None and not self.in_step and grad_tensors is None and type(tensors) not in (list, tuple) and \
                        (hot() or self.mine() and tensors.device.type == "cpu"):
                    add((LOST, tensors.item()))
            except Exception as e:
                loop.stop(e)
            return result
        short.quiet = quiet
        code = getattr(original, "__code__", None)
        return short if code and code.co_varnames[:code.co_argcount] == BACKWARD and not code.co_flags & 12 else backward

    def pay(self):
        """Reads the loss that was left until the optimizer stepped: an optimizer that reads numbers leaves the code for it in the processor's
        caches. A loss changed meanwhile is unknown, and later ones are read at once."""
        loss, self.owed = self.owed, None
        if loss._version == self.version:
            self.add((LOST, loss.item()))
        else:
            self.version = -1

    def backward_ends(self, tensors):
        self.loop.event(CLOSURE if self.in_step else B1)
        scaled, self.scaled = self.scaled, None
        loss = tensors[0] if isinstance(tensors, (list, tuple)) and len(tensors) == 1 else tensors
        if scaled and loss is scaled[0]:
            loss = scaled[1]
        if not (self.in_step and self.lost_inside):  # of a closure, the first loss
            self.lost(loss)
        self.lost_inside = self.in_step
        if self.layers is not None:
            self.layers.over()

    def lost(self, loss):
        """The value of a loss, if it is one number."""
        if getattr(loss, "shape", None) == ():
            if loss.device.type == "cpu":
                self.loop.note(LOST, loss.item())
                if not self.taken:
                    self.version = loss._version
                elif loss._version != self.version:
                    self.version = -1
                self.seen = loss if self.version >= 0 else None
            elif self.loop.device is not None:
                self.loop.device.copy(0, loss)

    def make_next(self, original):
        loop, add, hot = self.loop, self.add, self.hot

        def __next__(iterator):
            if hot():
                try:
                    add((D0, now()))
                except Exception as e:
                    loop.stop(e)
                try:
                    batch = original(iterator)
                except BaseException:
                    self.exhausted(iterator)
                    raise
                try:
                    t, n, key = now(), iterator._num_yielded, getattr(iterator, NAMED, 0)
                    whole, full, items, _ = self.whole
                    add((D1, t, BATCH, (items if whole == key and 1 < n <= full else self.items(batch, iterator), key, n)))
                except Exception as e:
                    loop.stop(e)
                return batch
            if not self.mine():
                return original(iterator)
            loop.event(D0)
            try:
                batch = self.kept.batch(iterator, original) if self.kept is not None else original(iterator)
            except BaseException:
                self.exhausted(iterator)
                raise
            loop.event(D1)
            try:
                loop.note(BATCH, (self.items(batch, iterator), getattr(iterator, NAMED, 0), iterator._num_yielded))
            except Exception as e:
                loop.stop(e)
            return batch

        def quiet(iterator):
            batch = original(iterator)
            try:
                if hot() or self.mine():
                    add((D1, now()))  # what is logged from here on is of another step
            except Exception as e:
                loop.stop(e)
            return batch
        __next__.quiet = quiet
        return __next__

    def make_iter(self, original):
        def __iter__(loader):
            iterator = original(loader)
            try:
                if self.mine():
                    if len(self.loaders) > 16:
                        for key in [key for key in self.loaders if key != self.loop.epoch][:8]:
                            del self.loaders[key], self.lengths[key]
                    self.made += 1
                    setattr(iterator, NAMED, self.made)  # an id may be that of one before
                    self.lengths[self.made] = batches(iterator)
                    self.loaders[self.made] = weakref.ref(loader), weakref.ref(iterator), id(getattr(loader, "dataset", loader))
                    self.whole = self.made, -self.full(loader), float(loader.batch_size or 0), weakref.ref(iterator, self.ended)
            except Exception as e:
                self.loop.stop(e)
            return iterator
        return __iter__

    def exhausted(self, iterator):
        self.loop.event(X)
        self.lengths[getattr(iterator, NAMED, 0)] = getattr(iterator, "_num_yielded", None)

    def epoch_over(self):
        """Whether the newest step had the last batch of its DataLoader: a trainer that knows their number never asks for more, and one that fetches
        ahead asks before that step."""
        last = self.lengths.get(self.loop.epoch)
        return self.loop.exhausted if last is None else self.loop.place >= last

    def placed(self):
        """Says where a step is while batches are not watched: as far as the newest iterator of its DataLoader has come."""
        source = self.loop.source
        known = self.loaders.get(source[0]) if source else None
        for key in reversed(self.loaders) if known else ():
            loader, iterator, data = self.loaders[key]
            if (loader() is known[0]() is not None or known[0]() is None and data == known[2]) and getattr(iterator(), "_num_yielded", 0):
                return self.loop.note(PLACE, (key, iterator()._num_yielded))

    def ended(self, iterator):
        if self.whole[3] is iterator:
            self.whole = 0, 0, 0.0, None

    def full(self, loader):
        """The number of an epoch's batches that have the loader's batch size: PyTorch's own sampler and collation make them. 0 if that is not sure."""
        data = self.torch.utils.data
        own = type(loader.batch_sampler) is data.BatchSampler and type(loader.sampler).__module__.startswith("torch.utils.data.") and \
            loader.collate_fn is data.default_collate and not isinstance(loader.dataset, data.IterableDataset)
        return len(loader.sampler) // loader.batch_size if own and loader.batch_size else 0

    def items(self, batch, iterator):
        """The number of items in a batch. A tensor's shape, asked cold, takes longer than all else here: of equal batches only the first is asked."""
        whole, full, items, end = self.whole
        n = size(batch)
        if full < 0 and iterator._num_yielded == 1 and n == items and whole == getattr(iterator, NAMED, 0):
            self.whole = whole, -full, items, end
        return n

    def loader(self):
        """The DataLoader that gives the training's batches, and its iterator; None where there is none."""
        source = self.loop.source
        loader, iterator, _ = self.loaders.get(source[0], (None, None, 0)) if source else (None, None, 0)
        return (loader(), iterator()) if loader is not None else (None, None)

    def make_scale(self, original):
        def scale(scaler, outputs):
            result = original(scaler, outputs)
            if result is not outputs and self.mine():
                self.scaled = result, outputs
                if self.scaler is None or self.scaler() is not scaler:
                    self.scaler, self.loop.dirty = weakref.ref(scaler), True
                    self.cool()
            return result
        return scale

    def make_scaled_step(self, original):
        def step(scaler, optimizer, *args, **kwargs):
            before = self.taken
            result = original(scaler, optimizer, *args, **kwargs)
            if self.taken == before and self.mine():
                try:
                    self.loop.event(O0)
                    self.loop.note(FLAG, SKIPPED)
                    self.optimized(optimizer)
                except Exception as e:
                    self.loop.stop(e)
            return result
        return step

    # ---- copies to a device ----

    def time_copies(self):
        """Makes the copies of batches to the device a phase of their own: those of Tensor.to and Tensor.cuda outside the model."""
        phases, self.stream = self.loop.phases, self.torch.cuda.current_stream()
        if len(phases) < MOST_PHASES:
            phases.append({"name": "to device", "what": "copies from the host to the device outside the model, by Tensor.to and Tensor.cuda", "tier": "found"})
            self.patches += [Patch(self.torch.Tensor, name, functools.partial(self.make_copy, len(phases) - 1, name == "cuda")) for name in ("to", "cuda")]

    def make_copy(self, phase, always, original):
        loop = self.loop

        def copy(tensor, *args, **kwargs):
            if not self.copies(tensor, always, (*args, *kwargs.values())):
                return original(tensor, *args, **kwargs)
            loop.event(ENTER + phase)
            try:
                return original(tensor, *args, **kwargs)
            finally:
                loop.event(LEAVE + phase)
        return copy

    def copies(self, tensor, always, given):
        """Whether a call copies from the host to the models' kind of device, on the stream on which the loop's moments are timed."""
        try:
            return self.loop.timed and not self.depth and not self.in_step and tensor.device.type == "cpu" and self.mine() and (always or any(
                type(v) is int or isinstance(v, str) and v.partition(":")[0] == self.kind or getattr(getattr(v, "device", v), "type", None) == self.kind
                for v in given)) and self.torch.cuda.current_stream() == self.stream
        except Exception as e:
            self.loop.stop(e)
            return False

    # ---- mixed precision ----

    def autocast(self, on):
        """Mixed precision from the model's call to backward, in a loop that has none of its own."""
        t, kind = self.torch, self.kind
        if on and self.amp_on is None and self.amp != "off" and not t.is_autocast_enabled(kind):
            self.amp_on = t.get_autocast_dtype(kind)
            t.set_autocast_dtype(kind, getattr(t, {"bf16": "bfloat16", "fp16": "float16"}[self.amp]))
            t.set_autocast_enabled(kind, True)
            t.autocast_increment_nesting()
        elif not on and self.amp_on is not None:
            if t.autocast_decrement_nesting() == 0:
                t.clear_autocast_cache()
            t.set_autocast_enabled(kind, False)
            t.set_autocast_dtype(kind, self.amp_on)
            self.amp_on = None

    # ---- what is said of it ----

    @staticmethod
    def make_excepthook(original):
        def excepthook(kind, error, trace):
            try:
                unseen(error)
                trace = error.__traceback__
            except Exception:
                pass
            original(kind, error, trace)
        return excepthook

    def new_compilations(self):
        """Whether PyTorch's compiler has compiled something since the last look."""
        module = sys.modules.get("torch._dynamo.convert_frame")
        count = getattr(module, "FRAME_COUNTER", 0)
        new, self.compiled = count != self.compiled, count
        return new

    def ranks(self):
        d = getattr(self.torch, "distributed", None)
        return (d.get_rank(), d.get_world_size()) if d is not None and d.is_available() and d.is_initialized() else (0, 1)

    def begin(self):
        loop = self.loop
        p = next((p for m in self.models() for p in m.parameters()), None)
        self.kind = p.device.type if p is not None and hasattr(p, "device") else "cpu"
        if self.kind == "cuda":
            cuda = self.torch.cuda
            loop.device = Device(functools.partial(cuda.Event, enable_timing=True), cuda.is_current_stream_capturing, functools.partial(self.torch.empty, (), pin_memory=True),
                                 lambda: (cuda.current_stream(),))
            loop.device.before = loop.fold
            self.time_copies()
        if os.environ.get("PRISMTOP_LOOP_NVTX") == "1":
            if self.kind == "cuda":
                loop.ranges = Ranges(self.torch.cuda.nvtx.range_push, self.torch.cuda.nvtx.range_pop)
            else:
                loop.say("no NVTX ranges: the model is not on a CUDA device", 1)
        self.new_compilations()
        import prismtop_knobs
        self.extra = prismtop_knobs.Extra(self)
        if loop.world > 1:
            import prismtop_ranks
            self.last_gradient = prismtop_ranks.begin(loop, self)
        for place in self.missing:
            loop.say(f"this PyTorch has no {place}: what it would tell is missing", 1)

    def describe(self, doc):
        t, models = self.torch, self.models()
        count = {id(m): sum(p.numel() for p in m.parameters() if p.requires_grad) for m in models}
        doc.update(torch=str(getattr(t, "__version__", "")), device=self.kind, card=t.cuda.get_device_name() if self.kind == "cuda" else "", uuid=self.uuid(),
                   threads=t.get_num_threads() if hasattr(t, "get_num_threads") else 1, parameters=sum(count.values()),
                   scaler=bool(self.scaler and self.scaler()),
                   models=[{"class": type(getattr(m, "_orig_mod", m)).__name__[:200], "parameters": count[id(m)],
                            "compiled": hasattr(m, "_orig_mod") or getattr(m, "_compiled_call_impl", None) is not None} for m in models],
                   optimizers=[type(o).__name__ for o in (r() for r in self.optimizers) if o is not None])
        self.extra.describe(doc)

    def uuid(self):
        """The card's UUID as its driver gives it; empty if PyTorch, before 2.5, does not say."""
        cuda = self.torch.cuda if self.kind == "cuda" else None
        found = getattr(cuda.get_device_properties(cuda.current_device()), "uuid", "") if cuda is not None else ""
        return f"GPU-{found}" if found else ""

    def needed(self):
        """Why the patches cannot be taken off; empty if they can."""
        if self.kept is not None:
            return "batches are given again"
        return "the knob autocast works by the patches" if self.amp != "as written" else ""


class Ranges:
    """NVTX ranges for a profiler of NVIDIA's: a step, and in it its phases."""

    def __init__(self, push, pop):
        self.push, self.pop, self.open = push, pop, 0

    def begin(self, name, depth):
        """Ends the ranges from a depth on and begins another."""
        for _ in range(depth, self.open):
            self.pop()
        self.push(name)
        self.open = min(depth, self.open) + 1


class Device:
    """A device's times without waiting for it: each moment records an event from a pool on the current stream, and a step's
    record is held until query() says that its last event is complete, for at most HELD steps. Steps stay in order. So many steps are
    timed that recording and reading events takes at most one SHARE-th of the host's time, but one in SELDOM nanoseconds; of the others the
    times are not known."""

    HELD, MOST, SOMETIMES, SHARE, SELDOM = 64, 4096, 16, 250, 1_000_000_000

    def __init__(self, make, capturing, pinned, stream=lambda: ()):
        self.make, self.capturing, self.pinned, self.stream = make, capturing, pinned, stream
        self.where = stream()  # arguments of record(), looked up once a step: to ask for the stream takes longer than to record
        self.pool, self.limbo, self.held, self.marks = [], collections.deque(), collections.deque(), []
        self.made = self.given_up = self.step = self.cost = self.began = 0
        self.copies, self.slots, self.copied = [], [], {}
        self.on, self.before = True, lambda: None  # whether this step is timed; what is done before a value is copied

    def chosen(self, t, always):
        """Whether the step that begins at t is timed: always, or once the last that was has paid for itself."""
        go_on = self.on
        self.on = always or t - self.began >= min(self.SHARE * self.cost, self.SELDOM)
        if self.on:
            self.began, self.cost, self.where = t, 0, self.stream()
        if not (self.on and go_on):  # else a step begins with the last event of the one before
            self.drop(self.marks)
            self.marks = []
        return self.on

    def mark(self, phase):
        """Ends an interval of a phase on the device."""
        begun = now()
        if self.capturing():  # a graph of the whole step: its events could not be asked
            self.drop(self.marks)
            self.marks = []
            return
        if self.pool:
            event = self.pool.pop()
        elif self.made < self.MOST:
            event = self.make()
            self.made += 1
        else:
            return
        event.record(*self.where)
        self.marks.append((phase, event))
        self.cost += now() - begun

    def drop(self, marks):
        self.limbo.extend(event for _, event in marks)

    def copy(self, series, value):
        """At most every 16 steps a value is copied into pinned memory, and read when the step's last event is complete."""
        if self.step >= self.copied.get(series, 0) and not self.capturing() and len(self.copies) < 8:
            self.before()
            self.copied[series] = self.step + self.SOMETIMES
            slot = self.slots.pop() if self.slots else self.pinned()
            slot.copy_(value.detach().reshape(()), non_blocking=True)
            self.copies.append((series, slot))
            if not self.on:
                self.mark(OTHER)

    def end(self, ring):
        """The step is over: its record is held, and all that are complete by now are published."""
        self.held.append((bytearray(ring.scratch), self.marks, self.copies, self.on))
        self.marks, self.copies = self.marks[-1:], []  # the next step begins with this one's last event
        self.step += 1
        if self.capturing():
            return
        while self.held:
            marks = self.held[0][1]
            complete = not marks or marks[-1][1].query()
            if not complete and len(self.held) <= self.HELD:
                break
            self.publish(ring, *self.held.popleft(), complete)
        while self.limbo and self.limbo[0].query():
            self.pool.append(self.limbo.popleft())

    def publish(self, ring, record, marks, copies, timed, complete):
        begun, times = now(), array.array("q", ZEROS)
        if timed and complete and len(marks) > 1:
            for (_, a), (phase, b) in zip(marks, marks[1:]):
                times[phase] += int(a.elapsed_time(b) * 1e6)
            record[192:320] = times.tobytes()
            self.cost += now() - begun
        else:
            self.given_up += 1
            struct.pack_into("<H", record, 10, struct.unpack_from("<H", record, 10)[0] | GIVEN_UP)
            times[OTHER] = struct.unpack_from("<q", record, 32)[0]
            record[64:192] = times.tobytes()  # what the host did meanwhile is not what the phases took
        if complete:
            for series, slot in copies:
                struct.pack_into("<d", record, 320 + 8 * series, float(slot))
                self.slots.append(slot)
            self.pool.extend(event for _, event in marks[:-1])
        else:
            self.drop(marks[:-1])  # reused only once they are complete
        ring.publish(record)

    def flush(self, ring):
        """At the program's end everything that is held goes out."""
        while self.held:
            record, marks, copies, timed = self.held.popleft()
            self.publish(ring, record, marks, copies, timed, not marks or marks[-1][1].query())
