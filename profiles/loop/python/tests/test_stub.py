"""Tests of the module without PyTorch: a stand-in with a made-up clock, so that phases are known to the nanosecond."""
import gc
import itertools
import math
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
MODULE = os.path.dirname(HERE)
STUB = os.path.join(HERE, "stub")
for folder in (STUB, MODULE, HERE):
    if folder not in sys.path:
        sys.path.insert(0, folder)

import prismtop_malloc  # noqa: E402
import ring_reader  # noqa: E402

DATA, PREPARE, FORWARD, LOSS, BACKWARD, CLIP, OPTIMIZER, OTHER = range(8)


class Case(unittest.TestCase):
    """Each test has modules, a folder and a stand-in of PyTorch of its own."""
    LAG = 0  # every record goes out at its own boundary

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        os.chmod(self.folder, 0o700)
        os.environ["PRISMTOP_LOOP"] = self.folder
        os.environ.pop("PRISMTOP_LOOP_ONLY_WATCH", None)
        self.stderr, sys.stderr = sys.stderr, tempfile.TemporaryFile("w+")
        self.load()

    def tearDown(self):
        sys.stderr, unwanted = self.stderr, sys.stderr
        unwanted.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def load(self):
        for name in [n for n in sys.modules if n.partition(".")[0] in ("torch", "prismtop", "prismtop_ring", "prismtop_torch", "prismtop_knobs", "prismtop_cache", "prismtop_frameworks", "prismtop_ranks")]:
            del sys.modules[name]
        sys.meta_path[:] = [f for f in sys.meta_path if type(f).__name__ != "Watch"]
        import prismtop
        import prismtop_cache
        import torch
        self.torch, self.prismtop, self.loop = torch, prismtop, prismtop.LOOP
        self.clocked = [prismtop, prismtop_cache, *(sys.modules[name] for name in ("prismtop_ring", "prismtop_torch") if prismtop.LOOP.guest)]
        for module in self.clocked:
            module.now = lambda: torch.elapsed
        prismtop.LAG = self.LAG

    def said(self):
        sys.stderr.seek(0)
        return sys.stderr.read()

    def reader(self):
        if self.LAG and self.loop.ring:
            self.loop.fold()
        r = ring_reader.find(self.folder)
        self.assertIsNotNone(r, "no ring was made")
        return r

    def model(self, cost=100):
        torch = self.torch

        class Net(torch.nn.Module):
            def forward(self, x):
                torch.advance(cost)
                return x
        return Net()

    def train(self, steps, loss=40, backward=300, clip=20, optimizer=50, data=10, size=16, between=0, model=None, each=None):
        """A plain loop whose durations are known; returns the steps of its ring."""
        torch = self.torch
        net = model or self.model()
        opt = torch.optim.Optimizer(net.parameters(), optimizer)
        for i, (x, _) in enumerate(torch.utils.data.DataLoader(steps, size, data)):
            opt.zero_grad()
            net(x)
            torch.advance(loss)
            torch.Tensor(1.5 + i, cost=backward).backward()
            torch.advance(clip)
            opt.step()
            torch.advance(between)
            if each:
                each(i)
        self.net, self.opt = net, opt

    def steps(self):
        steps = self.reader().read()["steps"]
        for s in steps:
            self.assertEqual(sum(s.host), s.total, s)
        return steps


class Phases(Case):
    def test_every_phase_of_a_plain_step_is_known_to_the_nanosecond(self):
        self.train(20, between=13)
        for s in self.steps():
            self.assertEqual(s.host[:8], (10, 5, 100, 40, 300, 20, 50, 13))
            self.assertEqual((s.total, s.items, s.passes, s.backwards), (538, 16, 1, 1))
        self.assertEqual([s.step for s in self.steps()], list(range(18)))
        self.assertEqual(self.reader().u64(96), self.steps()[0].start)
        self.assertEqual([s.series[0] for s in self.steps()], [3.5 + i for i in range(18)])

    def test_accumulation_adds_up_and_is_counted(self):
        torch, net = self.torch, self.model()
        opt = torch.optim.Optimizer(net.parameters(), 50)
        for i, (x, _) in enumerate(torch.utils.data.DataLoader(40, 16, 10)):
            net(x)
            torch.advance(40)
            torch.Tensor(float(i % 4), cost=300).backward()
            if i % 4 == 3:
                opt.step()
                opt.zero_grad()
        s = self.steps()[-1]
        self.assertEqual((s.passes, s.backwards, s.items, s.series[0]), (4, 4, 64, 1.5))
        self.assertEqual(s.host[:8], (40, 0, 400, 160, 1200, 0, 50, 5))

    def test_a_skipped_step_of_the_gradient_scaler_is_a_step(self):
        torch, net, scaler = self.torch, self.model(), self.torch.amp.grad_scaler.GradScaler()
        opt = torch.optim.Optimizer(net.parameters(), 50)
        for i, (x, _) in enumerate(torch.utils.data.DataLoader(12, 16, 10)):
            net(x)
            scaler.scale(torch.Tensor(2.0, cost=300)).backward()
            scaler.overflow = i % 5 == 4
            scaler.step(opt)
        steps = self.steps()
        self.assertEqual([s.flags & 1 for s in steps], [1 if i % 5 == 4 else 0 for i in range(2, 12)])
        self.assertEqual({s.series[0] for s in steps}, {2.0}, "the loss is without the scale")
        self.assertEqual([s.host[CLIP] for s in steps], [7] * 10)
        self.assertTrue(self.reader().greeting()["scaler"])

    def test_of_two_optimizers_the_last_of_a_round_leads(self):
        torch, a, b = self.torch, self.model(100), self.model(70)
        first, second = torch.optim.Optimizer(a.parameters(), 50), torch.optim.Optimizer(b.parameters(), 60)
        for x, _ in torch.utils.data.DataLoader(20, 16, 10):
            for net, opt, cost in ((a, first, 300), (b, second, 200)):
                net(x)
                torch.Tensor(1.0, cost=cost).backward()
                opt.step()
        steps = self.steps()
        self.assertGreater(len(steps), 15)
        for s in steps:
            self.assertEqual(s.host[:8], (10, 0, 170, 0, 500, 0, 110, 0))
        self.assertEqual(len(self.reader().greeting()["models"]), 2)
        self.assertEqual(self.reader().greeting()["optimizers"], ["Optimizer", "Optimizer"])

    def test_the_optimizer_that_steps_least_often_leads(self):
        torch, net = self.torch, self.model()
        critic, generator = torch.optim.Optimizer(net.parameters(), 50), torch.optim.Optimizer(net.parameters(), 60)
        for i, (x, _) in enumerate(torch.utils.data.DataLoader(600, 16, 10)):
            net(x)
            torch.Tensor(1.0, cost=300).backward()
            (generator if i % 5 == 4 else critic).step()
        steps = self.steps()
        self.assertEqual({s.backwards for s in steps[-60:]}, {5})
        self.assertEqual(steps[-1].host[OPTIMIZER], 260)

    def test_a_program_that_goes_on_to_another_optimizer(self):
        torch, net = self.torch, self.model()

        def stage(opt, steps):
            for x, _ in torch.utils.data.DataLoader(steps, 16, 10):
                net(x)
                torch.Tensor(1.0, cost=300).backward()
                opt.step()
        first, second = (torch.optim.Optimizer(net.parameters(), cost) for cost in (50, 70))
        stage(first, 20)
        stage(second, 30)
        self.assertGreaterEqual(len(self.steps()), 18 + 20)
        stage(torch.optim.Optimizer(net.parameters(), 90), 5)
        del first, second
        stage(torch.optim.Optimizer(net.parameters(), 90), 30)
        steps = self.steps()
        self.assertGreaterEqual(len(steps), 28)
        self.assertEqual(steps[-1].host[OPTIMIZER], 90)

    def test_an_evaluation_inside_a_step_makes_it_another_kind(self):
        torch = self.torch
        net = self.model()

        def evaluate(i):
            if i % 8 == 7:
                net.eval()
                with torch.no_grad():
                    net(torch.Tensor())
                net.train()
        self.train(40, model=net, each=evaluate)
        steps = self.steps()
        self.assertEqual([s.kind for s in steps], [1 if i % 8 == 0 and i else 0 for i in range(2, 40)][:len(steps)])
        evaluated = next(s for s in steps if s.kind == 1)
        self.assertTrue(evaluated.flags & 4)
        self.assertEqual((evaluated.host[FORWARD], evaluated.host[OTHER]), (100, 100))

    def test_a_forward_pass_without_gradients_in_training_mode_is_no_evaluation(self):
        torch, net = self.torch, self.model()

        def fakes(i):
            with torch.no_grad():
                net(torch.Tensor())
        self.train(20, model=net, each=fakes)
        self.assertEqual({s.kind for s in self.steps()}, {0})

    def test_the_first_step_of_an_epoch_is_another_kind_and_units_are_counted(self):
        torch, net = self.torch, self.model()
        opt = torch.optim.Optimizer(net.parameters(), 50)
        loader = torch.utils.data.DataLoader(10, 16, 10)
        for _ in range(3):
            for x, _ in loader:
                net(x)
                torch.Tensor(1.0).backward()
                opt.step()
        got = self.reader().read()
        steps = got["steps"]
        self.assertEqual([(s.unit, s.place) for s in steps[8:12]], [(1, 0), (1, 1), (1, 2), (1, 3)])
        self.assertEqual([s.kind for s in steps[7:10]], [0, 2, 0])
        self.assertEqual([struct.unpack_from("<ii", raw, 48) for raw in got[6]], [(0, 8), (1, 10)])
        self.assertEqual(steps[8].host[DATA], 20, "the end of the old iterator and the first batch of the new one")

    def test_a_closure_is_the_optimizer_with_its_passes(self):
        torch, net = self.torch, self.model()
        opt = torch.optim.Optimizer(net.parameters(), 50)
        for i, (x, _) in enumerate(torch.utils.data.DataLoader(8, 16, 10)):
            def closure():
                opt.zero_grad()
                net(x)
                torch.advance(40)
                torch.Tensor(float(i), cost=300).backward()
            opt.step(closure)
        s = self.steps()[-1]
        self.assertEqual(s.host[:8], (10, 0, 200, 80, 600, 0, 60, 0))
        self.assertEqual((s.passes, s.backwards, s.series[0]), (2, 2, 7.0))

    def test_a_model_whose_parts_have_its_own_class(self):
        torch = self.torch

        class Block(torch.nn.Module):
            inner = None

            def forward(self, x):
                torch.advance(30)
                return self.inner(x) if self.inner else x
        net = Block()
        net.inner = Block()
        self.train(10, model=net)
        self.assertEqual({s.host[FORWARD] for s in self.steps()}, {60})
        self.assertEqual(len(self.reader().greeting()["models"]), 1)

    def test_an_exception_of_the_model_leaves_no_trace(self):
        torch, net = self.torch, self.model()
        opt = torch.optim.Optimizer(net.parameters(), 50)
        fails = [False]
        forward = net.forward
        net.forward = lambda x: 1 / 0 if fails[0] else forward(x)
        for i, (x, _) in enumerate(torch.utils.data.DataLoader(20, 16, 10)):
            fails[0] = i == 10
            try:
                net(x)
            except ZeroDivisionError:
                fails[0] = False
                net(x)
            torch.Tensor(1.0, cost=300).backward()
            opt.step()
        self.assertEqual([s.passes for s in self.steps()], [1] * 8 + [2] + [1] * 9)

    def test_a_model_called_in_another_thread_is_not_counted(self):
        torch, net = self.torch, self.model()

        def elsewhere(i):
            t = threading.Thread(target=net, args=(torch.Tensor(),))
            t.start()
            t.join()
        self.train(20, model=net, each=elsewhere)
        self.assertEqual({s.passes for s in self.steps()}, {1})

    def test_models_that_are_used_later_are_found(self):
        self.train(20)
        self.train(40, model=self.model(70))
        self.train(140, model=self.model(60))
        steps = self.steps()
        self.assertEqual(steps[-1].host[FORWARD], 60)


class LossesReadAfterTheOptimizer(Case):
    """After 64 steps a loss waits for the optimizer; each step has its own all the same."""

    def looped(self, backwards=1, changed=lambda i: False, retain=False):
        """Trains 120 steps of a loss that counts them; some are changed between backward and the optimizer."""
        torch, net = self.torch, self.model()
        opt, self.waited = torch.optim.Optimizer(net.parameters(), 50), []
        for i, (x, _) in enumerate(torch.utils.data.DataLoader(120, 16, 10)):
            for k in range(backwards):
                net(x)
                loss = torch.Tensor(10 * i + k, cost=300)
                torch.autograd.backward(loss, retain_graph=retain)
            self.waited.append(self.loop.guest.owed is loss)
            if changed(i):
                loss.value, loss._version = -1, loss._version + 1
            opt.step()
            self.assertIsNone(self.loop.guest.owed)
        return [s.series[0] for s in self.steps()]

    def test_a_loss_waits_and_is_that_of_its_step(self):
        self.assertEqual(self.looped(), [10 * i for i in range(2, 120)])
        self.assertEqual(self.waited, [i > 64 for i in range(120)])

    def test_one_that_is_changed_in_each_step_is_read_at_once(self):
        self.assertEqual(self.looped(changed=lambda i: True), [10 * i for i in range(2, 120)])
        self.assertEqual(set(self.waited), {False})

    def test_one_that_is_changed_later_is_not_known_and_the_following_are_read_at_once(self):
        losses = self.looped(changed=lambda i: i >= 80)
        self.assertTrue(math.isnan(losses.pop(78)))
        self.assertEqual(losses, [10 * i for i in range(2, 120) if i != 80])
        self.assertFalse(any(self.waited[81:]))

    def test_several_passes_in_a_step_are_read_at_once(self):
        self.assertEqual(self.looped(backwards=2), [10 * i + 0.5 for i in range(2, 120)])
        self.assertFalse(any(self.waited[70:]))

    def test_a_graph_that_is_retained_is_not_held(self):
        self.assertEqual(self.looped(retain=True), [10 * i for i in range(2, 120)])
        self.assertEqual(set(self.waited), {False})


class TheShortWay(Case):
    """After 64 steps of a plain loop."""
    LAG = 20_000  # some tens of steps

    def again(self):
        sys.stderr.seek(0)
        shutil.rmtree(self.folder)
        for name in [n for n in sys.modules if n.partition(".")[0] == "torch"]:
            del sys.modules[name]
        self.load()

    def mixed(self):
        """Trains steps of which most are plain, each with times of its own."""
        torch, prismtop, net = self.torch, self.prismtop, self.model()
        opt, other, second = torch.optim.Optimizer(net.parameters(), 50), self.model(9), torch.optim.Optimizer((), 60)
        for epoch in range(4):
            for i, (x, _) in enumerate(torch.utils.data.DataLoader(100, 16, 10 + epoch)):
                n = 100 * epoch + i
                torch.advance(n % 7)
                if n in (250, 260):
                    (prismtop.phase("several").__enter__ if n == 250 else prismtop.phase("several").__exit__)()
                if n == 211:
                    self.loop.warm = 3
                if n % 50 == 17:
                    with torch.no_grad():
                        other(x)
                net(x)
                if n % 50 == 23:
                    with prismtop.phase("telescope"):
                        torch.advance(77)
                torch.advance(n % 11)
                torch.Tensor(math.inf if n % 50 == 29 else n + 0.5, cost=300 + n % 13).backward()
                if n == 371:  # losses are read at once from then on
                    net(x)
                    torch.Tensor(n, cost=20).backward()
                torch.advance(n % 17)
                opt.step()
                if n % 50 == 37:
                    prismtop.log(rate=n)
                    self.loop.fold()
                if n == 341:  # of the next step
                    net(x)
                    torch.Tensor(n, cost=20).backward()
                    second.step()
                    self.loop.fold()
                torch.advance(n % 19)
        return [repr(s._replace(number=0)) for s in self.steps()]  # several may have come in one record

    def test_plain_steps_become_the_records_that_any_step_would(self):
        guest, taken = self.loop.guest, [0]
        general = type(guest).plain
        type(guest).plain = lambda *given: given[2]
        slow = self.mixed()
        self.again()
        guest = self.loop.guest

        def counted(m, at):
            end = general(guest, m, at)
            taken[0] += (end - at) // 22
            return end
        guest.plain = counted
        self.assertEqual(self.mixed(), slow)
        self.assertGreater(taken[0], 200)

    def test_a_paused_loop_takes_as_many_steps_as_it_may(self):
        """However many steps are published together."""
        import time
        self.prismtop.LAG, took, asked, n = 1_000_000_000, [], [1, 1, 3, 1], 0

        def waits(_):
            took.append(n)
            if len(took) <= len(asked):
                reader.send({"pause_after": asked[len(took) - 1]})
            else:
                reader.send({})
            reader.beat(self.torch.elapsed)

        def each(i):
            nonlocal n, reader
            n = i
            if i == 2:
                reader = self.reader()
            if i > 1:
                reader.beat(self.torch.elapsed)
            if i == 100:
                self.assertTrue(self.loop.guest.hot(), "the long way")
                reader.send({"pause": True})
                self.loop.due = 0
        reader, sleep, time.sleep = None, time.sleep, waits
        try:
            self.train(150, each=each)
        finally:
            time.sleep = sleep
        self.assertEqual([b - a for a, b in zip(took, took[1:])], asked)

    def test_what_other_threads_do_is_not_counted(self):
        torch, net, hot = self.torch, self.model(), []

        def elsewhere():
            x = torch.Tensor()
            for _ in torch.utils.data.DataLoader(2, 8, 10):
                net(x)
                torch.Tensor(-1.0, cost=300).backward()
                self.opt.step()
                self.theirs.step()

        def each(i):
            self.opt = next(r() for r in self.loop.guest.optimizers)
            hot.append(self.loop.guest.hot())
            if i > 4:  # the thread that trains is known from the second step on
                t = threading.Thread(target=elsewhere)
                t.start()
                t.join()
        self.theirs = torch.optim.Optimizer(self.model().parameters(), 50)
        self.train(150, model=net, each=each)
        self.assertTrue(all(hot[100:]), "the long way")
        steps = self.steps()
        self.assertEqual([s.step for s in steps], list(range(148)))
        for s in steps[1:]:
            self.assertEqual((s.host[:7], s.items, s.passes, s.backwards, s.series[0]), ((10, 5, 100, 40, 300, 20, 50), 16, 1, 1, s.step + 3.5))


class PhasesOfStepsPublishedTogether(Phases):
    LAG = 10 ** 12

    def test_models_that_are_used_later_are_found(self):
        self.prismtop.LAG = 10_000  # models are searched at boundaries
        super().test_models_that_are_used_later_are_found()

    def test_records_wait_for_the_lag_or_a_long_step(self):
        self.prismtop.LAG = 50_000_000
        written = []
        self.train(200, between=1_000_000, each=lambda i: written.append(self.loop.ring.written if self.loop.ring else 0))
        self.assertLess(len(set(written[100:])), 5, "a hundred steps of a millisecond are at most four batches")
        self.assertGreater(len(set(written[100:])), 1)


class Guard(Case):
    """The first exception of ours takes every patch back; the training goes on."""

    def planted(self, plant, at=5):
        """Trains with a fault from that step on: at 5 the patches take the long way, at 80 the short one."""
        sys.stderr.seek(0)
        sys.stderr.truncate()
        shutil.rmtree(self.folder)
        for name in [n for n in sys.modules if n.partition(".")[0] == "torch"]:
            del sys.modules[name]
        self.load()
        t = self.torch
        done = []
        original = [p.original for p in self.loop.guest.patches]

        def each(i):
            if i == at:
                self.assertEqual(self.loop.guest.hot(), at == 80)
                plant()
            done.append(i)
        self.train(at + 10, each=each)
        self.assertEqual(done, list(range(at + 10)), "the training ended")
        # The optimizers' hooks go with the next backward at the latest.
        t.Tensor(1.0).backward()
        self.assertIn("stopped watching", self.said())
        self.assertEqual(self.said().count("\n"), 1, self.said())
        self.assertEqual((t.before, t.after), ({}, {}))
        for p in self.loop.guest.patches:
            self.assertIsNot(vars(p.owner).get(p.name), p.ours, f"{p.owner}.{p.name} is still patched")
        self.assertIs(t.autograd.backward, original[0])
        self.assertFalse("__call__" in vars(type(self.net)))
        r = self.reader()
        self.assertEqual(r.state, 5)
        self.assertIn("planted", r.read()["texts"][-1][1])

    def failing(self, target, name, which):
        """Lets a call of a function fail, counted from 1; of the record's, so that the last line can still be written."""
        good, calls = getattr(target, name), [0]

        def fails(*args):
            calls[0] += 1
            if calls[0] == which:
                raise RuntimeError("planted")
            return good(*args)
        setattr(target, name, fails)

    def test_in_each_hook(self):
        both = [("loop", "fold"), ("loop", "turn"), ("guest", "plain"), ("loop", "between"), ("guest", "new_compilations"), ("ring", "publish")]
        slow = [("loop", "note"), ("loop", "end_step"), ("guest", "lost"), ("guest", "backward_ends"), ("guest", "optimized")]
        for at, (owner, name) in [*itertools.product((5, 80), both), *((5, hook) for hook in slow)]:
            with self.subTest(name, at=at):
                self.planted(lambda: self.failing({"loop": self.loop, "guest": self.loop.guest, "ring": self.loop.ring}[owner], name, 1), at)

    def test_of_each_moment(self):
        for which in range(1, 12):
            with self.subTest(which):
                self.planted(lambda: self.failing(self.prismtop, "now", which))

    def test_at_each_look_at_the_clock_of_the_short_way(self):
        for which in range(1, 10):
            with self.subTest(which):
                self.planted(lambda: self.failing(sys.modules["prismtop_torch"], "now", which), 80)

    def test_a_folder_of_another_user_or_open_to_others_is_refused(self):
        os.chmod(self.folder, 0o755)
        self.train(10)
        self.assertIn("must belong to this user alone", self.said())
        self.assertEqual(os.listdir(self.folder), [])

    def test_a_full_disk_is_one_line(self):
        def full(*_):
            raise OSError(28, "No space left on device")
        good = os.posix_fallocate
        os.posix_fallocate = full
        try:
            self.train(10)
        finally:
            os.posix_fallocate = good
        self.assertIn("No space left", self.said())
        self.assertEqual(os.listdir(self.folder), [])

    def test_a_file_of_the_same_name_stays(self):
        taken = os.path.join(self.folder, f"{os.getpid()}-rank0.ring")
        with open(taken, "w") as f:
            f.write("mine")
        self.train(10)
        with open(taken) as f:
            self.assertEqual(f.read(), "mine")
        self.assertTrue(os.path.exists(taken.replace(".ring", "-1.ring")))

    def test_a_program_that_never_trains_has_no_ring(self):
        self.model()(self.torch.Tensor())
        self.assertEqual(os.listdir(self.folder), [])

    def test_without_the_variable_nothing_is_patched(self):
        del os.environ["PRISMTOP_LOOP"]
        self.load()
        self.assertIsNone(self.loop.guest)
        self.assertEqual(self.torch.before, {})
        with self.prismtop.phase("a"):
            pass
        self.prismtop.log(x=1)
        self.prismtop.step()
        self.assertEqual(list(self.prismtop.steps([1, 2])), [1, 2])


class Ranks(Case):
    """One rank of two: the other is played by the test."""

    def setUp(self):
        super().setUp()
        self.torch.distributed = self.torch.module("distributed", is_available=lambda: True, is_initialized=lambda: True, get_rank=lambda: 0, get_world_size=lambda: 2)
        self.prismtop.knob("size", 4, low=1, high=64)

    def proposed(self, doc, decide=None, steps=60, at=10):
        """Sends a proposal before a step, and makes the link at another; returns what came."""
        def each(i):
            if i == 2:
                self.r = self.reader()
            if i >= 2:
                self.r.beat(self.torch.elapsed)
            if i == at:
                self.r.send(dict(doc, agreement="ring.agreed-1"))
            if decide and i == decide[0]:
                os.symlink(decide[1], os.path.join(self.folder, "ring.agreed-1"))
        self.train(steps, each=each)
        return self.r.read()

    def outcomes(self, got):
        return [(a.step, a.result, a.block) for a in got["answers"]]

    def test_what_all_agree_to_is_in_force_at_its_step(self):
        got = self.proposed({"set": {"size": "8"}, "from": 20}, (15, "yes"))
        self.assertEqual(self.outcomes(got), [(10, 8, 0xFFFFFFFF), (20, 0, 0xFFFFFFFF)])
        self.assertEqual([s.step for s in got["steps"] if s.generation == 1][0], 20)
        self.assertEqual(self.loop.knobs["size"].value, "8")

    def test_a_rank_that_comes_to_the_step_first_cancels(self):
        got = self.proposed({"set": {"size": "8"}, "from": 20})
        self.assertEqual(self.outcomes(got), [(10, 8, 0xFFFFFFFF), (20, 9, 0xFFFFFFFF)])
        self.assertEqual(os.readlink(os.path.join(self.folder, "ring.agreed-1")), "no")
        self.assertEqual(self.loop.knobs["size"].value, "4")

    def test_what_the_other_has_cancelled_is_not_in_force(self):
        got = self.proposed({"set": {"size": "8"}, "from": 20}, (15, "no"))
        self.assertEqual(self.outcomes(got)[1][1], 9)
        self.assertEqual(self.loop.knobs["size"].value, "4")

    def test_a_rank_says_before_the_step_what_it_would_refuse(self):
        got = self.proposed({"set": {"size": "99", "none": "1"}, "from": 20})
        answer, = got["answers"]
        self.assertEqual((answer.result, set(answer.text)), (8, {"size", "none"}))
        self.assertEqual(os.path.lexists(os.path.join(self.folder, "ring.agreed-1")), False)

    def test_a_step_that_is_over_is_refused(self):
        answer, = self.proposed({"set": {"size": "8"}, "from": 5})["answers"]
        self.assertEqual((answer.result, answer.text), (8, {"": "step 5 is over"}))

    def test_a_name_that_leads_elsewhere_is_refused(self):
        def each(i):
            if i == 2:
                self.r = self.reader()
            if i == 10:
                self.r.send({"set": {"size": "8"}, "from": 20, "agreement": "../x.agreed"})
        self.train(40, each=each)
        self.assertEqual([a.result for a in self.r.read()["answers"]], [2])

    def test_a_schedule_runs_and_ends_by_steps(self):
        plan = {"arms": [{"size": "5"}, {"size": "6"}], "order": [0, 1, 1, 0], "length": 4}
        got = self.proposed({"schedule": plan, "after": {"size": "4"}, "warm": 2, "lease_ms": 1, "from": 20}, (15, "yes"))
        self.assertEqual(self.outcomes(got)[1:], [(20, 0, 0), (26, 0, 1), (32, 0, 2), (38, 0, 3), (44, 4, 0xFFFFFFFF)])
        self.assertEqual(self.loop.knobs["size"].value, "4")

    def test_knobs_for_one_process_say_so(self):
        self.train(10)
        knobs = {k["key"]: k for k in self.reader().greeting()["knobs"]}
        self.assertIn("one rank", knobs["prefetch"]["why"])
        self.assertEqual(knobs["size"]["why"], "")
        self.assertEqual(self.reader().greeting()["phases"][-1]["name"], "exchange")

    def test_the_last_gradient_divides_backward(self):
        hooks = []

        class Handle:
            def __init__(self, hook):
                self.hook = hook

            def remove(self):
                hooks.remove(self.hook)

        def register(p, hook):
            hooks.append(hook)
            return Handle(hook)
        self.torch.Tensor.register_post_accumulate_grad_hook = register

        def backward(tensors, *_):
            self.torch.advance(200)
            for hook in list(hooks):
                hook(None)
            self.torch.advance(100)
        self.loop.guest.back()
        self.load()
        self.torch.distributed = self.torch.module("distributed", is_available=lambda: True, is_initialized=lambda: True, get_rank=lambda: 0, get_world_size=lambda: 2)
        self.torch.Tensor.register_post_accumulate_grad_hook = register
        self.loop.guest.patches[0].original = backward
        self.torch.autograd.backward = self.loop.guest.make_backward(backward)
        self.train(200)
        s = self.steps()[-1]
        self.assertEqual((s.host[BACKWARD], s.host[8]), (200, 100))
        self.assertEqual(len(hooks), 1)


class Traces(Case):
    def test_a_trace_of_five_steps_is_written_once(self):
        calls, path = [], os.path.join(self.folder, "trace.json")

        class Profile:
            def __init__(self, activities, schedule, on_trace_ready):
                self.ready, self.steps = on_trace_ready, 0

            def start(self):
                calls.append("start")

            def step(self):
                self.steps += 1
                if self.steps == 6:
                    self.ready(self)

            def stop(self):
                calls.append("stop")

            def export_chrome_trace(self, path):
                calls.append(path)
        self.torch.module("profiler", profile=Profile, schedule=lambda **k: k, ProfilerActivity=type("A", (), {"CPU": 1, "CUDA": 2}))

        def each(i):
            if i == 2:
                self.r = self.reader()
            if i == 10:
                self.r.send({"trace": path})
            if i == 30:
                self.r.send({"trace": path})
        self.train(60, each=each)
        got = self.r.read()
        self.assertEqual(calls, ["start", path, "stop"])
        self.assertEqual([a.text for a in got["answers"]], [{}, {"trace": f"[Errno 17] File exists: '{path}'"}])
        slowed = [s.step for s in got["steps"] if s.flags & 512]
        self.assertEqual(slowed, list(range(slowed[0], slowed[0] + 7)))
        self.assertIn("trace of 5 steps written to", got["texts"][0][1])
        self.assertEqual(self.r.greeting()["able"]["trace"], "")

    def test_memory_of_a_device_is_a_series(self):
        self.train(10)
        cuda = self.torch.module("cuda", memory_stats=lambda: {"reserved_bytes.all.current": 8e9, "allocated_bytes.all.current": 5e9, "allocated_bytes.all.peak": 6e9, "inactive_split_bytes.all.current": 2e9},
                                 mem_get_info=lambda: (1, 2))
        self.assertIsNotNone(cuda)
        self.loop.guest.kind = "cuda"
        try:
            parts, card = self.loop.guest.extra.memory()
        finally:
            self.loop.guest.kind = "cpu"
        self.loop.fold()
        names = [s["name"] for s in self.loop.series]
        values = {n: self.loop.values[names.index(n)] for n in ("gpu_allocated_mb", "gpu_reserved_mb", "gpu_peak_mb", "gpu_fragmented")}
        self.assertEqual(values, {"gpu_allocated_mb": 5000, "gpu_reserved_mb": 8000, "gpu_peak_mb": 6000, "gpu_fragmented": 0.25})
        self.assertEqual(card[1], 8e9)

    def test_the_card_is_named_by_its_uuid(self):
        self.train(3)
        guest, properties = self.loop.guest, type("Properties", (), {"uuid": "26411b46-4164"})
        self.assertEqual(guest.uuid(), "", "on the processor")
        self.torch.module("cuda", current_device=lambda: 3, get_device_properties=lambda device: properties if device == 3 else None)
        guest.kind = "cuda"
        try:
            self.assertEqual(guest.uuid(), "GPU-26411b46-4164")
            del properties.uuid
            self.assertEqual(guest.uuid(), "", "PyTorch does not say")
        finally:
            guest.kind = "cpu"


class NVTX(Case):
    def test_ranges_are_balanced_and_named(self):
        said, depth = [], [0]

        def push(name):
            said.append(name)
            depth[0] += 1

        def pop():
            depth[0] -= 1
            self.assertGreaterEqual(depth[0], 0)

        def each(i):
            if i == 5:
                self.loop.ranges = sys.modules["prismtop_torch"].Ranges(push, pop)
        self.train(20, each=each)
        self.assertEqual(said[-11:], ["data", "prepare", "forward", "loss", "backward", "clip", "optimizer", "other", "step 18", "data", "other"])
        self.assertEqual(depth[0], 2)
        for s in self.steps():
            self.assertEqual(s.host[:8], (10, 5, 100, 40, 300, 20, 50, 0))


class Settings(Case):
    def running(self, documents, steps=200, **kwargs):
        """Trains, and sends each document before the step of its number; returns what came."""
        got = {}

        def each(i):
            if i == 2:
                got["reader"] = self.reader()
            if i >= 2:
                got["reader"].beat(self.torch.elapsed)
            for at, doc in documents:
                if i == at:
                    doc(got["reader"]) if callable(doc) else self.send(got["reader"], doc)
        self.box = self.prismtop.knob("size", 4, low=1, high=64, touches=["forward"])
        self.way = self.prismtop.knob("way", "a", values=["a", "b", "c"])
        self.flag = self.prismtop.knob("flag", False)
        self.train(steps, each=each, **kwargs)
        return got["reader"].read()

    def send(self, reader, doc):
        reader.send(doc)
        reader.beat(self.torch.elapsed)

    def test_values_are_in_force_at_the_next_boundary_and_answered(self):
        got = self.running([(10, {"set": {"size": "8", "way": "b", "flag": "on"}})])
        self.assertEqual((self.box.value, self.way.value, self.flag.value), (8, "b", True))
        answer, = got["answers"]
        self.assertEqual((answer.step, answer.generation, answer.result, answer.text), (10, 1, 0, {}))
        self.assertEqual([s.generation for s in got["steps"][8:12]], [0, 0, 1, 1])
        self.assertEqual([s.flags & 2 for s in got["steps"][8:14]], [0, 0, 2, 2, 0, 0])

    def test_a_pytorch_that_is_too_old_refuses_autocast_and_fused(self):
        made = self.torch.optim.Optimizer.__init__

        def init(optimizer, *args):
            made(optimizer, *args)
            optimizer.param_groups[0].update(foreach=None, fused=None)
        self.torch.optim.Optimizer.__init__ = init
        self.torch.is_autocast_enabled = lambda: False  # that of PyTorch 2.0 takes no device
        got = self.running([(10, {"set": {"autocast": "bf16", "optimizer": "fused", "flag": "on"}})])
        answer, = got["answers"]
        self.assertEqual((answer.result, answer.text), (1, {"autocast": "this PyTorch is older than 2.4", "optimizer": "on the CPU, this needs PyTorch 2.4"}))
        self.assertEqual((self.flag.value, len(got["steps"]), self.said()), (True, 198, ""))

    def test_what_cannot_be_is_refused_with_the_reason_and_the_rest_is_done(self):
        got = self.running([(10, {"set": {"size": "65", "way": "d", "flag": "on", "nothing": "1"}})])
        answer, = got["answers"]
        self.assertEqual(answer.result, 1)
        self.assertEqual(answer.text, {"size": "must be a whole number from 1 to 64", "way": "must be one of a, b, c", "nothing": "the loop has no such knob"})
        self.assertEqual((self.box.value, self.way.value, self.flag.value), (4, "a", True))

    def test_a_document_that_makes_no_sense_changes_nothing(self):
        got = self.running([(10, b"{nonsense"), (20, {"set": {"size": 8}}), (30, {"warm": -1}), (40, {"schedule": {"arms": [], "order": [], "length": 3}}), (50, {"state": "steal"})])
        self.assertEqual([a.result for a in got["answers"]], [2] * 5)
        self.assertTrue(all(a.text[""] for a in got["answers"]))
        self.assertEqual(len(got["steps"]), 198)

    def test_a_torn_document_is_read_again_when_it_is_whole(self):
        def torn(reader):
            reader.send({"set": {"size": "8"}})
            reader.map[32768 + 16384 + 3:32768 + 16384 + 4] = b"X"

        def whole(reader):
            reader.map[32768 + 16384 + 3:32768 + 16384 + 4] = b"e"
        got = self.running([(10, torn), (30, whole)])
        self.assertEqual([a.step for a in got["answers"]], [30])

    def test_an_error_in_a_knob_leaves_the_old_value(self):
        self.loop.add(self.prismtop.Knob("bad", ["a", "b"], "a", lambda v: 1 / 0))
        got = self.running([(10, {"set": {"bad": "b"}})])
        self.assertEqual(got["answers"][0].text, {"bad": "division by zero"})
        self.assertEqual(self.loop.knobs["bad"].value, "a")

    def test_a_schedule_runs_by_steps(self):
        plan = {"arms": [{"way": "a"}, {"way": "b"}], "order": [0, 1, 1, 0], "length": 10}
        got = self.running([(10, {"schedule": plan, "after": {"way": "c"}, "warm": 3})])
        steps, answers = got["steps"], got["answers"]
        self.assertEqual([a.block for a in answers], [0, 1, 2, 3, 0xFFFFFFFF])
        self.assertEqual([a.result for a in answers], [0, 0, 0, 0, 4])
        self.assertEqual(self.way.value, "c")
        for block in range(4):
            plain = [s for s in steps if s.block == block and not s.flags & 2]
            self.assertEqual(len(plain), 10)
        self.assertEqual(len([s for s in steps if s.block == 1]), 13)
        self.assertEqual(len([s for s in steps if s.block == 2]), 13, "every block begins alike")

    def test_a_lease_puts_back_what_an_experiment_switched(self):
        plan = {"arms": [{"way": "a"}, {"way": "b"}], "order": [1] * 1000, "length": 10}

        def each(i):
            self.torch.advance(50_000_000)
            if i == 2:
                self.r = self.reader()
                self.r.send({"schedule": plan, "after": {"way": "c"}, "lease_ms": 1000})
            if 2 <= i < 60:
                self.r.beat(self.torch.elapsed)
        self.way = self.prismtop.knob("way", "a", values=["a", "b", "c"])
        self.train(200, each=each)
        answer = self.r.read()["answers"][-1]
        self.assertEqual((answer.result, self.way.value), (3, "c"))
        self.assertTrue(75 <= answer.step <= 85, answer.step)

    def test_without_a_lease_the_users_choice_stays(self):
        def each(i):
            self.torch.advance(1_000_000_000)
            if i == 2:
                self.reader().send({"set": {"way": "b"}})
        self.way = self.prismtop.knob("way", "a", values=["a", "b", "c"])
        self.train(200, each=each)
        self.assertEqual(self.way.value, "b")

    def test_a_new_document_ends_a_schedule(self):
        plan = {"arms": [{"way": "a"}, {"way": "b"}], "order": [1] * 100, "length": 10}
        self.running([(10, {"schedule": plan, "after": {"way": "c", "size": "5"}}), (50, {"set": {"size": "6"}})])
        self.assertEqual((self.way.value, self.box.value), ("c", 6))

    def test_a_thousand_toggles(self):
        documents = [(i, {"set": {"way": "ab"[i % 2]}}) for i in range(5, 1005)]
        got = self.running(documents, steps=1100)
        self.assertEqual(len(got["answers"]), 1000)
        self.assertEqual(len(got["steps"]), 1098)

    def test_boundaries_only(self):
        got = self.running([(10, {"watch": "boundaries"}), (30, {"watch": "all"})])
        thin = [s for s in got["steps"] if s.flags & 16]
        self.assertEqual(len(thin), 20)
        self.assertTrue(all(s.host[OTHER] == s.total == sum(s.host) for s in thin))
        self.assertEqual(got["steps"][-1].host[:8], (10, 5, 100, 40, 300, 20, 50, 0))

    def test_steps_without_phases_have_their_losses(self):
        got = self.running([(10, {"watch": "losses"}), (20, {"watch": "all"}), (82, {"watch": "losses"}), (102, {"watch": "all"}), (110, {"watch": "losses"}), (115, {"watch": "boundaries"}), (120, {"watch": "all"})], steps=130)
        self.assertEqual([s.step for s in got["steps"] if s.flags & 16], [*range(10, 20), *range(82, 102), *range(110, 120)])
        self.assertEqual([s.step for s in got["steps"] if s.series[0] != s.step + 3.5], list(range(115, 120)))

    def epochs(self, anew):
        """Trains 14 epochs of 10 steps with an evaluation after each, some of which only boundaries are watched of; whose DataLoader is made anew for each."""
        torch, net, other = self.torch, self.model(), self.model(9)
        opt, data, truth, asked = torch.optim.Optimizer(net.parameters(), 50), [0] * 10, [0] * 3, {25: "boundaries", 58: "all", 103: "boundaries", 107: "all"}
        kept, reader, n = self.loader(data), None, 0
        for _ in range(14):
            for x, _ in self.loader(data) if anew else kept:
                net(x)
                torch.Tensor(1.0, cost=300).backward()
                opt.step()
                n += 1
                if n == 2:
                    reader = self.reader()
                elif n > 2:
                    reader.beat(torch.elapsed)
                if n in asked:
                    self.loop.due = 0
                    self.send(reader, {"watch": asked[n]})
            net.eval()
            with torch.no_grad():
                for x, _ in self.loader(truth):
                    other(x)
            net.train()
        self.loop.turn()
        steps = reader.read()["steps"]
        self.assertEqual(sum(s.flags >> 4 & 1 for s in steps), 58 - 25 + 107 - 103)
        self.assertEqual([(s.unit, s.place) for s in steps], [(n // 10, n % 10 - 2 * (n < 10)) for n in range(2, 140)])
        self.assertEqual([s.step for s in steps if s.kind == 2], [n - 2 for n in range(10, 140, 10)])

    def test_epochs_are_counted_while_only_boundaries_are_watched(self):
        self.epochs(False)

    def test_epochs_of_new_dataloaders_are_counted_while_only_boundaries_are_watched(self):
        self.epochs(True)

    def loader(self, data):
        """A DataLoader of a dataset."""
        loader = self.torch.utils.data.DataLoader(len(data))
        loader.dataset = data
        return loader

    def test_a_knob_that_no_greeting_may_have_is_an_error_where_it_is_declared(self):
        for wrong in ({"value": 1, "low": 1, "high": 1}, {"value": "c", "values": ["a", "b"]}, {"value": "a", "values": ["a", "b"], "compared": ["a", "c"]},
                      {"value": 0, "values": range(17)}, {"value": True, "compared": ["on"]}, {"value": 1, "low": 0, "high": 2, "price": "dear", "compared": [1, 2]}):
            with self.assertRaisesRegex(ValueError, "^wrong: "):
                self.prismtop.knob("wrong", **wrong)
        self.assertNotIn("wrong", self.loop.knobs)
        self.prismtop.knob("many", 1, low=0, high=2, help="\u00e9" * 150)
        self.assertEqual(self.loop.knobs["many"].doc["help"], "\u00e9" * 100)

    def test_only_watching_refuses_every_knob(self):
        os.environ["PRISMTOP_LOOP_ONLY_WATCH"] = "1"
        got = self.running([(10, {"set": {"way": "b"}})])
        self.assertEqual(got["answers"][0].text, {"way": "prismtop was told only to watch"})

    def test_a_pause_ends_with_the_reader(self):
        import time
        slept = []
        sleep, time.sleep = time.sleep, lambda s: (slept.append(s), self.torch.advance(20_000_000))
        try:
            self.running([(10, {"pause": True})], steps=30)
        finally:
            time.sleep = sleep
        self.assertAlmostEqual(sum(slept), 5, delta=0.1)
        self.assertEqual({s.total for s in self.steps()}, {525}, "a pause is part of no step")

    def test_the_ring_wraps_and_the_reader_counts_what_it_missed(self):
        self.train(10000)
        r = self.reader()
        steps = r.read()["steps"]
        self.assertEqual((len(steps), r.lost), (4096, r.written - 4096))
        self.assertEqual(steps[-1].step, 9997)


class Declared(Case):
    def test_a_declared_phase_wins(self):
        torch, net = self.torch, self.model()
        opt = torch.optim.Optimizer(net.parameters(), 50)
        for x, _ in torch.utils.data.DataLoader(10, 16, 10):
            torch.advance(3)
            with self.prismtop.phase("telescope"):
                torch.advance(11)
                net(x)
            torch.advance(40)
            with self.prismtop.phase("regulariser"):
                torch.advance(17)
            torch.advance(2)
            torch.Tensor(1.0, cost=300).backward()
            opt.step()
        s = self.steps()[-1]
        names = [p["name"] for p in self.reader().greeting()["phases"]]
        self.assertEqual(names[8:], ["telescope", "regulariser"])
        self.assertEqual(s.host[8:10], (111, 17))
        self.assertEqual(s.host[:8], (10, 3, 0, 42, 300, 0, 50, 0))

    def test_a_loop_without_an_optimizer(self):
        for _ in self.prismtop.steps([[1, 2, 3]] * 10, items="images"):
            with self.prismtop.phase("solve"):
                self.torch.advance(100)
            self.torch.advance(7)
        steps = self.steps()
        self.assertEqual(len(steps), 8)
        self.assertEqual((steps[-1].host[8], steps[-1].host[OTHER], steps[-1].total), (100, 7, 107))
        self.assertEqual(self.reader().greeting()["item"], {"one": "image", "many": "images"})

    def test_step_counts_what_it_is_told(self):
        for _ in range(5):
            self.torch.advance(100)
            self.prismtop.step(items=12)
        self.assertEqual([(s.total, s.items) for s in self.steps()], [(100, 12)] * 3)

    def test_logged_values_are_series(self):
        self.train(10, each=lambda i: self.prismtop.log(psnr_db=20 + i, val_loss=1 / (i + 1)) if i % 2 else None)
        r = self.reader()
        series = {s["name"]: s for s in r.greeting()["series"]}
        self.assertEqual((series["psnr_db"]["better"], series["val_loss"]["group"], r.greeting()["quality"]), ("more", "losses", "psnr_db"))
        self.loop.finish()
        got = r.read()
        self.assertEqual([(s.step, s.series[1]) for s in got["steps"] if s.series[1] == s.series[1]], [(0, 21)])  # no step is recorded before it
        self.assertEqual([late[:3] for late in self.late(got)], [(1, -1, 23), (3, -1, 25), (5, -1, 27), (7, 0, 29)])  # the last with its epoch

    def late(self, got):
        """What was logged after steps that are over: the number of the step, that of an epoch that is over, and values."""
        return [struct.unpack_from("<q", raw, 16) + struct.unpack_from("<i", raw, 48) + struct.unpack_from("<3d", raw, 328) for raw in got[6]]

    def test_what_is_logged_belongs_to_its_step(self):
        """Before the model is called, between that and the optimizer, after its step and after an epoch; also where only losses are read meanwhile."""
        torch, net, reader, n = self.torch, self.model(), None, 0
        opt, loader, check = torch.optim.Optimizer(net.parameters(), 50), torch.utils.data.DataLoader(40, 16, 10), torch.utils.data.DataLoader(3, 16, 10)
        for epoch in range(4):
            for _ in loader:
                self.prismtop.log(first=n)
                net(torch.Tensor())
                torch.Tensor(1.0).backward()
                self.prismtop.log(inside=n)
                opt.step()
                self.prismtop.log(after=n)
                n += 1
                reader = reader or (self.reader() if n > 2 else None)
                if reader:
                    reader.beat(torch.elapsed)
                if n in (90, 130):
                    reader.send({"watch": "losses" if n == 90 else "all"})
                    self.loop.due = 0
            net.eval()
            with torch.no_grad():
                for _ in check:
                    net(torch.Tensor())
            net.train()
            self.prismtop.log(val_acc=epoch)
        self.loop.finish()
        got = reader.read()
        names = [s["name"] for s in self.reader().greeting()["series"]]
        first, inside, after, acc = (names.index(name) for name in ("first", "inside", "after", "val_acc"))
        steps = {s.step: s for s in got["steps"]}
        self.assertEqual(list(steps), list(range(158)))
        for i, s in steps.items():
            self.assertEqual(s.series[inside], i + 2)
            self.assertTrue(math.isnan(s.series[acc]))
            self.assertEqual(s.series[first], i + 2)
        late = {struct.unpack_from("<q", raw, 16)[0]: struct.unpack_from("<24d", raw, 320) for raw in got[6]}
        self.assertEqual([v[after] for i, v in sorted(late.items()) if i], list(range(3, 160)))
        self.assertEqual({i: v[acc] for i, v in late.items() if v[acc] == v[acc]}, {37: 0, 77: 1, 117: 2, 157: 3})
        self.assertGreater(sum(s.flags >> 4 & 1 for s in got["steps"]), 30)

    def test_more_series_and_phases_than_there_is_room_for(self):
        self.train(10, each=lambda i: self.prismtop.log(**{f"s{k}": k for k in range(40)}))
        for k in range(20):
            with self.prismtop.phase(f"p{k}"):
                pass
        doc = self.reader().greeting()
        self.assertEqual(len(doc["series"]), 24)
        self.assertEqual(len(self.loop.phases), 16)

    def test_epochs_that_the_program_counts(self):
        torch, net = self.torch, self.model()
        opt = torch.optim.Optimizer(net.parameters(), 50)
        for epoch in range(3, 6):
            self.prismtop.epoch(epoch, 6)
            for part in range(2):  # of an epoch, with a DataLoader each
                for x, _ in torch.utils.data.DataLoader(5, 16, 10):
                    net(x)
                    torch.Tensor(1.0).backward()
                    opt.step()
            with self.prismtop.evaluation():
                net(torch.Tensor())
                torch.advance(7)
            self.prismtop.log(val_acc=epoch / 10)
        self.prismtop.epoch()
        self.loop.finish()  # what was logged is in the epoch's record, and not once more at the end
        got = self.reader().read()
        steps, greeting = got["steps"], self.reader().greeting()
        self.assertEqual(greeting["unit"]["total"], 6)
        self.assertEqual([(s.unit, s.kind) for s in steps], [(3, 0)] * 8 + [(4, 1)] + [(4, 0)] * 9 + [(5, 1)] + [(5, 0)] * 9)
        self.assertEqual([struct.unpack_from("<ii", raw, 48) for raw in got[6]], [(3, 8), (4, 10), (5, 10)])
        at = [s["name"] for s in greeting["series"]].index("val_acc")
        self.assertEqual([struct.unpack_from("<24d", raw, 320)[at] for raw in got[6]], [0.3, 0.4, 0.5])
        phase = [p["name"] for p in greeting["phases"]].index("evaluation")
        self.assertEqual({s.host[phase] for s in steps if s.kind == 1}, {107})
        self.assertEqual({(s.passes, s.items) for s in steps}, {(1, 16.0)}, "what an evaluation calls is no pass")

    def test_an_epoch_has_what_was_logged_since_its_last_step(self):
        torch, net = self.torch, self.model()
        opt = torch.optim.Optimizer(net.parameters(), 50)
        loader = torch.utils.data.DataLoader(10, 16, 10)
        for epoch in range(3):
            for i, (x, _) in enumerate(loader):
                net(x)
                torch.Tensor(1.0).backward()
                self.prismtop.log(rate=100 + i)
                opt.step()
            self.prismtop.log(val_acc=epoch)
        self.loop.finish()
        got = self.reader().read()
        self.assertEqual([struct.unpack_from("<3d", raw, 320)[2] for raw in got[6]], [0, 1, 2])
        self.assertTrue(all(math.isnan(struct.unpack_from("<3d", raw, 320)[1]) for raw in got[6]), "what the first step logs is not the epoch's before")

    def epochs_that_end(self, of):
        """The epochs that are over where three go through ten batches of a DataLoader, or fewer, each with an evaluation."""
        torch, net = self.torch, self.model()
        opt = torch.optim.Optimizer(net.parameters(), 50)
        loader = torch.utils.data.DataLoader(10, 16, 10)
        for _ in range(3):
            for _ in of(loader):
                net(torch.Tensor())
                torch.Tensor(1.0).backward()
                opt.step()
            for _ in torch.utils.data.DataLoader(2, 16, 10):  # which is exhausted
                pass
        self.loop.finish()
        return [struct.unpack_from("<i", raw, 48)[0] for raw in self.reader().read()[6]]

    def test_the_last_epoch_is_over_although_its_loader_is_asked_no_more(self):
        self.assertEqual(self.epochs_that_end(lambda loader: (batch for _, batch in zip(range(10), loader))), [0, 1, 2])

    def test_the_last_epoch_is_over_although_its_loader_was_asked_for_more_before_the_last_step(self):
        def ahead(loader):
            iterator = iter(loader)
            batch = next(iterator)
            for following in iterator:
                yield batch
                batch = following
            yield batch
        self.assertEqual(self.epochs_that_end(ahead), [0, 1, 2])

    def test_an_epoch_that_was_left_is_not_over(self):
        self.assertEqual(self.epochs_that_end(lambda loader: (batch for _, batch in zip(range(9), loader))), [0, 1])

    def test_losses_that_add_up(self):
        torch, net = self.torch, self.model()
        self.prismtop.accumulates()
        opt = torch.optim.Optimizer(net.parameters(), 50)
        for i, (x, _) in enumerate(torch.utils.data.DataLoader(12, 16, 10)):
            def closure():
                net(x)
                torch.Tensor(0.75, cost=300).backward()
            if i % 2:
                opt.step(closure)  # as Lightning does: the last part is inside
            else:
                net(x)
                torch.Tensor(0.5, cost=300).backward()
        self.assertEqual({s.series[0] for s in self.steps()}, {1.25})

    def test_a_step_has_the_items_of_its_batches(self):
        for _ in self.torch.utils.data.DataLoader(10, 16, 10):
            with self.prismtop.phase("forward"):
                self.torch.advance(3)
            self.prismtop.step()
        steps = self.steps()
        self.assertEqual([s.items for s in steps], [16] * 8)
        self.assertEqual({s.host[FORWARD] for s in steps}, {3}, "a phase that is there by its name")

    def test_detaching_takes_everything_back(self):
        t, original = self.torch, [p.original for p in self.loop.guest.patches]
        speed = self.prismtop.knob("speed", 1, low=1, high=9)
        values = []

        def each(i):
            if i == 4:
                self.r = self.reader()
                self.r.send({"set": {"speed": "5", "gc": "off"}})
            if i == 10:
                self.r.send({"detach": True})
            values.append((speed.value, gc.isenabled()))
        self.train(20, each=each)
        self.assertEqual(values, [(1, True)] * 5 + [(5, False)] * 6 + [(1, True)] * 9)
        t.Tensor(1.0).backward()
        self.assertEqual((t.before, t.after), ({}, {}))
        self.assertIs(t.autograd.backward, original[0])
        for p in [*self.loop.guest.patches, self.loop.guest.last_words]:
            self.assertIsNot(vars(p.owner).get(p.name), p.ours, f"{p.owner}.{p.name} is still patched")
        self.assertEqual((self.r.state, self.said()), (5, ""))
        self.assertEqual(len(self.r.read()["steps"]), 10)

    def test_a_cache_counts_and_is_switched(self):
        made = []

        @self.prismtop.cache(title="masks", most=2)
        def mask(c):
            made.append(c)
            self.torch.advance(1000)
            return [c]

        def each(i):
            if i == 2:
                self.r = self.reader()
            if i >= 2:
                self.r.beat(self.torch.elapsed)
                self.torch.advance(600_000_000)
            if i == 20:
                self.r.send({"set": {"cache_masks": "off"}})
                self.r.beat(self.torch.elapsed)
            self.assertEqual(mask(i % 2), [i % 2])
        self.train(40, each=each)
        got = self.r.read()
        enabled, hits, misses, entries, held, saved, spent = struct.unpack_from("<7q", got[2][-1], 64)
        self.assertEqual((enabled, hits + misses, misses, entries), (0, 21, 2, 2))
        self.assertEqual(saved, 1000 * hits)
        self.assertGreater(held, 0)
        self.assertEqual(len(made), 2 + 19)
        self.assertEqual(struct.unpack_from("<II", got[10][-1], 48), (0, 2))
        self.assertEqual(struct.unpack_from("<2q", got[10][-1], 64), (1000, 1000))
        self.assertEqual(self.r.greeting()["caches"][0], {"name": "masks", "title": "masks", "what": "", "setting": "cache_masks"})

    def test_the_last_steps_have_the_last_counts(self):
        one, self.prismtop.LAG = self.prismtop.cache(lambda x: x, title="one", key=lambda x: 0), 10 ** 9

        class Net(self.torch.nn.Module):
            def forward(self, x):
                return one(x)
        self.train(30, model=Net())
        self.loop.finish()
        got = self.reader().read()
        before = [raw for raw in got[2] if struct.unpack_from("<Q", raw)[0] < got["steps"][-1].number]
        self.assertEqual(sum(struct.unpack_from("<7q", before[-1], 64)[1:3]), 30)

    def test_caches_are_told_often_although_memory_takes_long_to_count(self):
        self.prismtop.cache(lambda x: x, title="one")

        def slow():
            self.torch.advance(50_000_000)
            return [1, 2, 3, 4, -1], []

        def each(i):
            if i >= 2:
                self.loop.guest.extra.memory = slow
                self.reader().beat(self.torch.elapsed)
                self.torch.advance(600_000_000)
        self.train(30, each=each)
        got = self.reader().read()
        self.assertGreater(len(got[2]), 20)
        self.assertLessEqual(len(got[3]), 2)

    def test_a_function_that_has_lru_cache_keeps_its_own(self):
        import functools

        @functools.lru_cache(maxsize=None)
        def f(x):
            return x * 2
        g = self.prismtop.cache(f)
        self.assertEqual([g(1), g(1), g(2)], [2, 2, 4])
        self.assertEqual(g.numbers()[:4], [1, 1, 2, 2])
        g.on.value = False
        self.assertEqual((g(1), f.cache_info().hits), (2, 1))

    def test_pictures_and_their_truth(self):
        truth = [[0.0, 1.0], [1.0, 0.0]]
        self.prismtop.compare(truth)

        def each(i):
            if i >= 2:
                self.reader().beat(self.torch.elapsed)
                self.torch.advance(600_000_000)
            self.prismtop.picture("reconstruction", [[0.0, 0.5], [1.0, 0.0]])
        self.train(8, each=each)
        r = self.reader()
        got = r.read()
        index, width, height, generation = struct.unpack_from("<IIII", got[9][0], 48)
        self.assertEqual((index, width, height, generation), (0, 2, 2, 1))
        path = next(os.path.join(self.folder, n) for n in os.listdir(self.folder) if n.endswith(".picture0"))
        with open(path, "rb") as f:
            raw = f.read()
        self.assertEqual(raw[:8], b"PRSMPICT")
        self.assertEqual(struct.unpack_from("<4f", raw, 32), (0, 0.5, 1, 0))
        self.assertEqual([p["name"] for p in r.greeting()["pictures"]], ["reconstruction", "truth"])
        psnr = [s.series[1] for s in got["steps"] if not math.isnan(s.series[1])]
        self.assertAlmostEqual(psnr[0], 10 * math.log10(1 / 0.0625))

    def test_the_newest_picture_is_compared_at_the_end(self):
        for last in (7, 5):  # the step after which the last picture was passed, of eight: it is of the next, if there is one
            self.prismtop.compare([[0.0, 1.0], [1.0, 0.0]])

            def each(i):
                if i >= 2:
                    self.reader().beat(self.torch.elapsed)
                if i - 2 <= last:
                    self.prismtop.picture("reconstruction", [[0.0, 1 - 0.5 ** i], [1.0, 0.0]])
            self.train(10, each=each)
            self.loop.finish()
            r = self.reader()
            got = r.read()
            at = [s["name"] for s in r.greeting()["series"]].index("psnr_db")
            measured = [struct.unpack_from("<24d", raw, 320)[at] for raw in got[6]]
            psnr = next(v for v in measured if not math.isnan(v))
            self.assertAlmostEqual(psnr, 10 * math.log10(4 / 0.25 ** (last + 2)))
            self.assertEqual(struct.unpack_from("<q", got[6][measured.index(psnr)], 16)[0], min(last + 1, 7))
            self.assertEqual(self.loop.newest, {})
            self.tearDown()
            self.setUp()

    def test_a_wrong_value_is_a_line_and_not_the_end(self):
        self.train(10, each=lambda i: self.prismtop.log(a="no number"))
        got = self.reader().read()
        self.assertEqual(len(got["steps"]), 8)
        self.assertIn("no number", got["texts"][0][1])


class Processes(Case):
    def python(self, *arguments, env=None, **kwargs):
        e = {**os.environ, "PYTHONPATH": MODULE + os.pathsep + STUB, "PRISMTOP_LOOP": self.folder, **(env or {})}
        return subprocess.run([sys.executable, *arguments], env=e, capture_output=True, text=True, timeout=120, **kwargs)

    LOOP = """
import torch
class Net(torch.nn.Module):
    def forward(self, x): return x
net = Net(); opt = torch.optim.Optimizer(net.parameters())
def train(n):
    for x, _ in torch.utils.data.DataLoader(n):
        net(x); torch.Tensor(1.0).backward(); opt.step()
"""

    def rings(self):
        return sorted(n for n in os.listdir(self.folder) if n.endswith(".ring"))

    def test_an_unchanged_program_is_watched(self):
        p = self.python("-c", self.LOOP + "train(10)")
        self.assertEqual((p.returncode, p.stderr), (0, ""))
        self.assertEqual(self.reader().state, 3)
        self.assertEqual(len(self.reader().read()["steps"]), 8)

    def test_a_program_that_fails(self):
        p = self.python("-c", self.LOOP + "train(10)\n1/0")
        self.assertEqual(p.returncode, 1)
        self.assertEqual(self.reader().state, 4)

    def test_a_program_that_is_interrupted_has_not_failed(self):
        p = self.python("-c", self.LOOP + "train(10)\nraise KeyboardInterrupt")
        self.assertNotEqual(p.returncode, 0)
        self.assertEqual(self.reader().state, 3)

    def test_a_traceback_has_the_programs_frames_alone(self):
        for fault, at in (("1/0", "forward"), ("signal.raise_signal(signal.SIGINT)", "forward"), ("raise ValueError from KeyError()", "forward")):
            with self.subTest(fault):
                for name in os.listdir(MODULE):  # beside the program, as for a run without prismtop
                    if name.startswith("prismtop") and name.endswith(".py"):
                        shutil.copy(os.path.join(MODULE, name), self.folder)
                program = os.path.join(self.folder, "fails.py")
                with open(program, "w") as f:
                    f.write("import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n" + self.LOOP.replace("return x", "\n        if self.n == 6: %s\n        self.n += 1\n        return x" % fault)
                            .replace("def forward", "n = 0\n    def forward") + "train(10)\n")
                p = self.python(program)
                self.assertNotEqual(p.returncode, 0)
                self.assertIn("in " + at, p.stderr)
                self.assertNotIn("prismtop", p.stderr)

    def test_a_program_that_is_killed(self):
        self.python("-c", self.LOOP + "train(10)\nimport os, signal\nos.kill(os.getpid(), signal.SIGKILL)")
        self.assertEqual(self.reader().state, 2)
        self.assertEqual(len(self.reader().read()["steps"]), 8)

    def test_isolated_python_is_left_alone(self):
        for flag in ("-I", "-S", "-E"):
            with self.subTest(flag):
                p = self.python(flag, "-c", "import sys; sys.path.insert(0, %r)\n" % STUB + self.LOOP + "train(10)")
                self.assertEqual((p.returncode, p.stderr, self.rings()), (0, "", []))

    def test_a_child_of_fork_writes_nothing_into_its_parents_ring(self):
        p = self.python("-c", self.LOOP + """
import os
train(10)
if os.fork() == 0:
    train(30)
    os._exit(0)
os.wait()
train(5)
""")
        self.assertEqual((p.returncode, p.stderr), (0, ""))
        self.assertEqual(len(self.rings()), 2, "a child that trains has a ring of its own")
        steps = [ring_reader.Reader(os.path.join(self.folder, n)).read()["steps"] for n in self.rings()]
        self.assertEqual(sorted(map(len, steps)), [13, 28])
        self.assertEqual([s[-1].passes for s in steps], [1, 1], "the child's model is found anew")

    def test_a_child_that_is_spawned_is_watched_like_any_program(self):
        path = os.path.join(self.folder, "spawn.py")
        with open(path, "w") as f:
            f.write(self.LOOP + """
import multiprocessing
if __name__ == "__main__":
    child = multiprocessing.get_context("spawn").Process(target=train, args=(10,))
    child.start(); child.join()
""")
        p = self.python(path)
        self.assertEqual((p.returncode, p.stderr), (0, ""))
        self.assertEqual(len(self.rings()), 1)

    def test_the_environments_own_sitecustomize_runs(self):
        own = os.path.join(self.folder, "own")
        os.mkdir(own)
        with open(os.path.join(own, "sitecustomize.py"), "w") as f:
            f.write("import sys\nsys.marked = True\n")
        p = self.python("-c", "import sys; print(sys.marked)", env={"PYTHONPATH": os.pathsep.join((MODULE, own))})
        self.assertEqual((p.stdout.strip(), p.stderr), ("True", ""))

    def test_a_program_may_keep_its_memory_from_the_start(self):
        for kept in (False, True):
            p = self.python("-c", self.LOOP + "train(10)", env={"PRISMTOP_LOOP_KEEP_MEMORY": str(int(kept))})
            self.assertEqual((p.returncode, p.stderr), (0, ""))
            greeting = self.reader().greeting()
            knob = next(k for k in greeting["knobs"] if k["key"] == "keep_memory")
            able = not prismtop_malloc.why()
            self.assertEqual((greeting["kept"], knob["value"], knob["why"] == ""), (kept and able, "on" if kept and able else "off", able and not kept))
            os.remove(os.path.join(self.folder, self.rings()[0]))

    def test_a_virtual_environment(self):
        venv = os.path.join(self.folder, "venv")
        made = subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], capture_output=True)
        if made.returncode:
            self.skipTest("this Python makes no virtual environments")
        e = dict(os.environ, PYTHONPATH=MODULE + os.pathsep + STUB, PRISMTOP_LOOP=self.folder)
        p = subprocess.run([os.path.join(venv, "bin", "python"), "-c", self.LOOP + "train(10)"], env=e, capture_output=True, text=True, timeout=120)
        self.assertEqual((p.returncode, p.stderr, len(self.rings())), (0, "", 1))

    def test_importing_prismtop_in_a_program_that_never_trains(self):
        p = self.python("-c", "import prismtop, torch\nprismtop.log(x=1)\nprint('done')")
        self.assertEqual((p.returncode, p.stdout, p.stderr, self.rings()), (0, "done\n", "", []))


@unittest.skipIf(prismtop_malloc.why(), prismtop_malloc.why())
class Malloc(unittest.TestCase):
    """What malloc keeps, in processes of their own."""

    PROGRAM = """
import resource, sys
sys.path[:0] = [{folder!r}]
import prismtop_malloc as malloc
PAGE = malloc.PAGE
def faults(steps=20):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(steps):
        tensors = [bytearray(3 << 20) for _ in range(16)]
        del tensors
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
def maps(size):
    p = malloc.LIBC.malloc(size)
    mapped = malloc.LIBC.size_before(p) & 2
    malloc.LIBC.free(p)
    return bool(mapped)
"""

    def program(self, text, **env):
        p = subprocess.run([sys.executable, "-c", self.PROGRAM.format(folder=MODULE) + text], env={**os.environ, **env}, capture_output=True, text=True, timeout=120)
        self.assertEqual(p.returncode, 0, p.stderr)

    def test_pages_are_taken_once_while_memory_is_kept_and_in_each_step_otherwise(self):
        self.program("""
faults()
before = faults()
malloc.keep(True)
faults()
kept = faults()
malloc.keep(False)
faults()
after = faults()
assert kept * 10 < before and kept * 10 < after, (before, kept, after)
""")

    def test_going_back_is_to_the_thresholds_at_which_malloc_had_arrived(self):
        self.program("""
assert maps(5 << 20) and not maps(5 << 20), "the threshold follows what is freed"
malloc.keep(True)
assert malloc.trim == 2 * ((5 << 20) + PAGE), malloc.trim
assert not maps(30 << 20)
malloc.keep(False)
malloc.keep(True)
malloc.keep(False)
assert malloc.trim == 2 * ((5 << 20) + PAGE), malloc.trim
held = [malloc.LIBC.malloc(4 << 20) for _ in range(20)]  # more than is free
assert not any(malloc.LIBC.size_before(p) & 2 for p in held)
held = [malloc.LIBC.malloc(6 << 20) for _ in range(20)]
assert malloc.LIBC.size_before(held[-1]) & 2
""")

    def test_a_program_may_begin_so(self):
        self.program("""
assert malloc.begin() and malloc.kept and malloc.why()
faults()
assert faults() < 100
assert not maps(30 << 20)
""")

    def test_thresholds_of_the_environment_are_left(self):
        for name, value in [("MALLOC_TRIM_THRESHOLD_", "1000000"), ("GLIBC_TUNABLES", "glibc.malloc.mmap_threshold=200000")]:
            self.program("assert malloc.why() and not malloc.begin() and not malloc.kept", **{name: value})
        self.program("assert not malloc.why()", MALLOC_ARENA_MAX="2", GLIBC_TUNABLES="glibc.malloc.arena_max=2")


class CUDA(Case):
    """Device times by events of a made-up device."""

    class Event:
        lag, clock = 0, 0

        def record(self):
            self.t = CUDA.Event.clock

        def query(self):
            return CUDA.Event.clock >= self.t + CUDA.Event.lag

        def elapsed_time(self, other):
            return (other.t - self.t) / 1e6

    def device(self, lag, share=0):
        import prismtop_torch
        CUDA.Event.lag, CUDA.Event.clock = lag, 0
        made = prismtop_torch.Device(CUDA.Event, lambda: False, lambda: None)
        made.SHARE, made.SELDOM = share, 10 ** 15
        good = made.mark

        def mark(phase):
            CUDA.Event.clock += 1000
            good(phase)
            made.cost += 1
        made.mark = mark
        return made

    def train_on(self, device, steps=300):
        def each(i):
            if i == 1:
                self.loop.device, self.loop.timed = device, True
        self.train(steps, each=each)
        device.flush(self.loop.ring)
        return self.reader().read()["steps"]

    def test_an_idle_device(self):
        device = self.device(0)
        steps = self.train_on(device)
        self.assertEqual([s.step for s in steps], list(range(298)))
        for s in steps[2:]:
            self.assertEqual(sum(s.device[:8]), 9000, "every interval of a step has its device time")
            self.assertEqual(s.device[FORWARD], 1000)
            self.assertEqual(sum(s.host), s.total)
        self.assertLess(device.made, 20)

    def test_a_device_is_timed_as_seldom_as_it_costs(self):
        device = self.device(0, 10 ** 9)  # the first step that is timed never pays for itself
        steps = self.train_on(device)
        self.assertEqual([s.step for s in steps], list(range(298)))
        timed = [s.step for s in steps if s.device[FORWARD] > 0]
        self.assertEqual(len(timed), 1, "once")
        for s in steps[2:]:
            if s.step not in timed:
                self.assertTrue(s.flags & 32 and set(s.device) == {-1}, "not known")
                self.assertEqual((s.host[OTHER], sum(s.host)), (s.total, s.total), "what the host did is no phase of the device's")
        self.assertLess(device.made, 20)

    def test_a_device_that_is_thirty_steps_behind(self):
        device = self.device(30 * 9000)
        steps = self.train_on(device)
        self.assertEqual([s.step for s in steps], list(range(298)), "in order")
        self.assertEqual(device.given_up, 30, "only those that were still running at the end")
        self.assertLess(device.made, 400)

    def test_a_device_that_hangs(self):
        device = self.device(10 ** 15)
        steps = self.train_on(device, 1000)
        self.assertEqual([s.step for s in steps], list(range(998)))
        self.assertTrue(all(s.flags & 32 and set(s.device) == {-1} for s in steps[1:]))
        self.assertLessEqual(device.made, 4096)

    def test_copies_to_the_device_are_a_phase(self):
        torch, guest, stream, card = self.torch, self.loop.guest, ["main"], "cuda"
        torch.cuda = torch.module("cuda", current_stream=lambda: stream[0], memory_stats=dict, mem_get_info=lambda: (1, 2), get_device_name=lambda: card,
                                  current_device=lambda: 0, get_device_properties=lambda device: None)
        copied = {"by name": lambda x: x.to("cuda:1"), "by number": lambda x: x.to(0, non_blocking=True), "by itself": lambda x: x.cuda(),
                  "as another": lambda x: x.to(torch.Tensor.on(card)), "by a device": lambda x: x.to(device=torch.Tensor.on(card).device)}
        not_copied = {"another type": lambda x: x.to("float16"), "on the host": lambda x: x.to(torch.Tensor()), "there already": lambda x: torch.Tensor.on(card).to("cuda"),
                      "on a side stream": lambda x: (stream.append(stream.pop(0) * 2), x.cuda(), stream.append("main"), stream.pop(0))}
        device = self.device(0)
        net, calls = self.model(), [*copied.items(), *not_copied.items()]
        opt = torch.optim.Optimizer(net.parameters(), 50)
        for i, (x, _) in enumerate(torch.utils.data.DataLoader(2 + len(calls), 16, 10)):
            if i == 2:  # as begin does on a card
                guest.kind, self.loop.device, self.loop.timed = card, device, True
                guest.time_copies()
            if i >= 2:
                calls[i - 2][1](x)
            net(x)
            torch.Tensor(2.0, cost=300).backward()
            opt.step()
        guest.kind = "cpu"
        device.flush(self.loop.ring)
        steps = self.reader().read()["steps"]
        self.assertEqual([s.host[8] for s in steps], [30] * len(copied) + [0] * len(not_copied))
        self.assertEqual([s.device[8] for s in steps[1:]], [1000] * (len(copied) - 1) + [0] * len(not_copied))
        self.assertEqual([p["name"] for p in self.loop.phases][8:], ["to device"])
        self.assertEqual([sum(s.host) - s.total for s in steps], [0] * len(calls))
        self.loop.retire()
        self.assertFalse(hasattr(torch.Tensor.to, "__wrapped__"))

    def test_no_event_while_a_graph_is_captured(self):
        device = self.device(0)
        device.capturing = lambda: True
        steps = self.train_on(device, 100)
        self.assertEqual((device.made, len(steps)), (0, 98))


if __name__ == "__main__":
    unittest.main()
