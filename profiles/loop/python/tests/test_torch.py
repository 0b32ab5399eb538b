"""Tests of the module with PyTorch: loops as a user would write them, on the CPU."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
MODULE = os.path.dirname(HERE)
LOOPS = os.path.join(MODULE, "testdata")
sys.path.insert(0, HERE)

import ring_reader  # noqa: E402

try:
    import torch
except ImportError:
    torch = None

DATA, PREPARE, FORWARD, LOSS, BACKWARD, CLIP, OPTIMIZER, OTHER = range(8)


@unittest.skipIf(torch is None, "this Python has no PyTorch")
class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        os.chmod(self.folder, 0o700)

    def tearDown(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def environment(self, hooked=True):
        env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        env.pop("PRISMTOP_LOOP", None)
        if hooked:
            env.update(PYTHONPATH=MODULE, PRISMTOP_LOOP=self.folder, PRISMTOP_LOOP_COMPILE="aot_eager")
        return env

    def run_loop(self, name, *arguments, hooked=True, documents=()):
        """Runs a loop of testdata, sends documents while it runs, a few steps after each other; returns its losses and what its ring had."""
        p = subprocess.Popen([sys.executable, os.path.join(LOOPS, name), *map(str, arguments)], env=self.environment(hooked),
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        reader, got, waiting, since = None, {"steps": [], "answers": [], "texts": [], 8: []}, list(documents), 0
        import threading
        out = []
        reading = threading.Thread(target=lambda: out.append(p.communicate()))
        reading.start()
        while reading.is_alive():
            reading.join(0.002)
            reader = reader or (ring_reader.find(self.folder) if hooked else None)
            if reader is None or reader.u64(64) == 0:
                continue
            reader.beat()
            for key, records in reader.read().items():
                got.setdefault(key, []).extend(records)
            if waiting and len(got["steps"]) >= since and (not reader.generation or any(a.generation == reader.generation for a in got["answers"])):
                reader.send(waiting.pop(0))
                since = len(got["steps"]) + 5
        text, errors = out[0]
        self.assertEqual(p.returncode, 0, errors)
        self.assertNotIn("prismtop", errors)
        self.errors = errors
        if hooked:
            reader = reader or ring_reader.find(self.folder)
            self.assertIsNotNone(reader, "no ring was made")
            for key, records in reader.read().items():
                got.setdefault(key, []).extend(records)
            self.greeting, self.lost = reader.greeting(), reader.lost
            self.assertEqual(reader.state, 3)
            for s in got["steps"]:
                self.assertEqual(sum(s.host), s.total)
            self.assertFalse(waiting, f"not sent: {waiting}")
        return text.split("\n"), got

    def same(self, name, *arguments, documents=()):
        """Checks that a loop has the same losses with and without prismtop, bit for bit."""
        plain, _ = self.run_loop(name, *arguments, hooked=False)
        hooked, got = self.run_loop(name, *arguments, documents=documents)
        self.assertEqual(plain, hooked)
        return got


class Bits(Case):
    """Losses are those of an unhooked run, bit for bit."""

    KEEP = [{"set": {"gc": "off", "keep_memory": "on"}}, {"layers": True}, {"watch": "boundaries"}, {"watch": "all", "set": {"gc": "on", "keep_memory": "off"}},
            {"schedule": {"arms": [{"gc": "on"}, {"gc": "off"}], "order": [0, 1, 1, 0], "length": 5}, "after": {"gc": "on"}}]

    def test_a_cnn_for_a_thousand_steps(self):
        got = self.same("cnn.py", 1000)
        self.assertEqual(len(got["steps"]) + self.lost, 998)
        kinds = {s.kind for s in got["steps"]}
        self.assertEqual(kinds, {0, 1}, "the first step of an epoch has the evaluation, too")
        self.assertTrue(self.greeting["scaler"])
        self.assertEqual(got["steps"][-1].items, 8)

    def test_a_cnn_for_a_thousand_steps_with_toggles_that_keep_bits(self):
        got = self.same("cnn.py", 1000, documents=self.KEEP)
        self.assertGreaterEqual(len(got["answers"]), 8)
        self.assertTrue(all(a.result in (0, 4) for a in got["answers"]), got["answers"])
        self.assertTrue(got[8], "layers were measured")

    def test_a_transformer_with_accumulation(self):
        got = self.same("transformer.py", 60, documents=[{"set": {"checkpointing": "on", "optimizer": "foreach"}}, {"set": {"checkpointing": "off", "optimizer": "for-loop"}}])
        self.assertEqual({a.result for a in got["answers"]}, {0}, got["answers"])
        self.assertEqual({s.passes for s in got["steps"]}, {4})
        self.assertEqual({s.backwards for s in got["steps"]}, {4})
        self.assertTrue(all(s.host[CLIP] > 0 for s in got["steps"]))

    def test_a_gan(self):
        got = self.same("gan.py", 200)
        self.assertEqual({(s.passes, s.backwards) for s in got["steps"][2:]}, {(4, 2)}, "two passes of the critic, one of each for the generator")
        self.assertEqual({s.kind for s in got["steps"]} - {0, 2}, set(), "fakes are no evaluation")
        self.assertEqual(len(self.greeting["models"]), 2)

    def test_lbfgs(self):
        got = self.same("lbfgs.py", 40)
        self.assertTrue(all(s.passes > 1 and s.host[FORWARD] > 0 and s.host[BACKWARD] > 0 for s in got["steps"]))
        knob = next(k for k in self.greeting["knobs"] if k["key"] == "optimizer")
        self.assertEqual(knob["why"], "LBFGS has one way only")

    def test_compiled_models(self):
        for how in ("in place", "wrapped"):
            with self.subTest(how):
                got = self.same("compiled.py", 30, how)
                self.assertIn("breaks 0", self.errors, "the hooks break no graph")
                self.assertTrue(self.greeting["models"][0]["compiled"])
                self.assertEqual({s.passes for s in got["steps"]}, {1})

    def test_eight_workers_and_a_model_that_is_saved(self):
        got = self.same("workers.py", 48)
        self.assertEqual([s.kind for s in got["steps"]].count(2), 2)
        self.assertEqual(len([n for n in os.listdir(self.folder) if n.endswith(".ring")]), 1)
        self.assertEqual(self.greeting["workers"], 8)


class Knobs(Case):
    """Each knob is switched to and fro in a process of its own; the loop stays right."""

    PROGRAM = """
import os, sys, tempfile
sys.path[:0] = [{module!r}, {here!r}]
import prismtop, torch, ring_reader
import torch.nn as nn, torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset
loop = prismtop.LOOP
def put(**sets):
    loop.put(sets, 1, prismtop.NO_BLOCK, 0)
    answer = [a for a in reader.read()["answers"]][-1]
    return answer.text
def train(net, opt, data, steps, toggle=lambda i: None, scaler=None):
    global reader
    losses = []
    n = 0
    while n < steps:
        for x, y in data:
            opt.zero_grad()
            loss = F.cross_entropy(net(x), y)
            if scaler:
                scaler.scale(loss).backward(); scaler.step(opt); scaler.update()
            else:
                loss.backward(); opt.step()
            losses.append(loss.item())
            if n == 2:
                reader = ring_reader.find(os.environ["PRISMTOP_LOOP"])
            if n > 2:
                toggle(n)
            n += 1
            if n == steps: break
    return losses
def net(seed=1):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Conv2d(2, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 4))
def data(seed=1):
    torch.manual_seed(seed)
    return DataLoader(TensorDataset(torch.randn(64, 2, 8, 8), torch.randint(0, 4, (64,))), 8)
"""

    def program(self, text):
        p = subprocess.run([sys.executable, "-c", self.PROGRAM.format(module=MODULE, here=HERE) + text], env=self.environment(), capture_output=True, text=True, timeout=600)
        self.assertEqual(p.returncode, 0, p.stderr)
        return p.stdout

    def test_the_optimizers_ways_are_the_same_update(self):
        self.program("""
for make in (lambda p: torch.optim.AdamW(p, lr=1e-2), lambda p: torch.optim.SGD(p, lr=1e-2, momentum=0.9), lambda p: torch.optim.Adam(p, lr=1e-2, amsgrad=True)):
    ways = ["for-loop", "foreach", "fused", "as written"]
    m = net(); never = train(m, make(m.parameters()), data(), 40)
    loop.knobs.clear(); loop.forget()
    m = net(); o = make(m.parameters())
    switched = train(m, o, data(), 40, lambda i: put(optimizer=ways[i % 4]))
    assert max(abs(a - b) for a, b in zip(never, switched)) < 1e-4, (never, switched)
    assert o.param_groups[0]["fused"] in (None, True, False)
    loop.knobs.clear(); loop.forget()
    m = net(); o = make(m.parameters())
    equal = train(m, o, data(), 40, lambda i: put(optimizer=["for-loop", "foreach"][i % 2]))
    assert equal == never, "for-loop and foreach have the same bits"
    loop.knobs.clear(); loop.forget()
""")

    def test_autocast_is_there_only_where_it_belongs(self):
        self.program("""
m = net(); seen = []
m[3].register_forward_hook(lambda mod, a, out: seen.append((torch.is_grad_enabled(), out.dtype)))
def toggle(i):
    if i == 10: assert put(autocast="bf16") == {}
    if i == 20:
        assert put(autocast="off") == {}
    if i == 12:
        m.eval()
        with torch.no_grad(): m(torch.randn(8, 2, 8, 8))
        m.train()
    assert not torch.is_autocast_enabled("cpu")
o = torch.optim.AdamW(m.parameters())
train(m, o, data(), 40, toggle)
trained = [d for g, d in seen if g]
assert trained[11:21] == [torch.bfloat16] * 10 and set(trained[:11] + trained[21:]) == {torch.float32}, trained
assert [d for g, d in seen if not g] == [torch.float32], "an evaluation keeps its precision"
assert all(s["exp_avg"].dtype == torch.float32 for s in o.state.values())
assert put(autocast="fp16") == {"autocast": "the loop has no enabled GradScaler, without which gradients of fp16 vanish"}
""")

    def test_autocast_replaces_the_loops_own(self):
        self.program("""
m = net(); seen = []
class Own(nn.Module):
    def __init__(self): super().__init__(); self.m = m
    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            out = self.m(x)
        seen.append(out.dtype)
        return out.float()
own = Own()
def toggle(i):
    if i == 10: put(autocast="off")
    if i == 20: put(autocast="as written")
train(own, torch.optim.SGD(own.parameters(), lr=0.1), data(), 30, toggle)
assert seen[11:21] == [torch.float32] * 10 and set(seen[:11] + seen[21:]) == {torch.bfloat16}, seen
""")

    def test_the_scaler_keeps_its_scale(self):
        self.program("""
m, s = net(), torch.amp.GradScaler("cpu", init_scale=2.0 ** 10)
def toggle(i):
    if i == 10: assert put(autocast="fp16") == {}
    if i == 20: assert put(optimizer="fused") == {}
    if i == 30: assert put(autocast="off", optimizer="as written") == {}
losses = train(m, torch.optim.AdamW(m.parameters(), lr=1e-3), data(), 50, toggle, s)
assert s.get_scale() == 2.0 ** 10, s.get_scale()
steps = reader.read()["steps"]
assert losses[-1] < losses[0]
""")

    def test_memory_format_takes_the_moments_along(self):
        self.program("""
m = net(); o = torch.optim.AdamW(m.parameters(), lr=1e-3)
never = train(m, o, data(), 40); loop.knobs.clear(); loop.forget()
m = net(); o = torch.optim.AdamW(m.parameters(), lr=1e-3)
def toggle(i):
    put(memory_format=["channels_last", "contiguous"][i // 5 % 2])
    last = i // 5 % 2 == 0
    w = m[0].weight
    assert w.is_contiguous(memory_format=torch.channels_last) == last and o.state[w]["exp_avg"].is_contiguous(memory_format=torch.channels_last) == last
switched = train(m, o, data(), 40, toggle)
assert max(abs(a - b) for a, b in zip(never, switched)) < 1e-4
""")

    def test_items_are_those_of_each_batch(self):
        self.program("""
def make(**how):
    torch.manual_seed(1)
    return DataLoader(TensorDataset(torch.randn(52, 2, 8, 8), torch.randint(0, 4, (52,))), **how)
m = net(); o = torch.optim.SGD(m.parameters(), lr=0.1)
def pair(samples):
    x, y = torch.utils.data.default_collate(samples)
    return x[:len(x) // 2], y[:len(x) // 2]
known, seen = [], []
sizes = [[0, 1, 2], [3, 4], [5, 6, 7, 8]]
for how, expected in (({"batch_size": 8, "shuffle": True}, [8] * 6 + [4]), ({"batch_size": 8, "drop_last": True}, [8] * 6), ({"batch_size": 8, "collate_fn": pair}, [4] * 6 + [2]),
                      ({"batch_sampler": sizes}, [3, 2, 4]), ({"batch_size": 8, "num_workers": 1, "persistent_workers": True}, [8] * 6 + [4])):
    n = 100 if not known else 5 * len(expected)
    for steps in (n, len(expected) * 3):
        loop.due = 0
        train(m, o, make(**how), steps, lambda i: (reader.beat(), seen.append(loop.guest.whole[1])))
    assert loop.guest.hot()
    loop.fold()
    items = [s.items for s in reader.read()["steps"]]
    assert items[-3 * len(expected):] == expected * 3, (how, items)
    known.append(seen[-1])
assert known == [6, 6, 0, 0, 6], known
""")

    def test_compile_on_and_off_and_a_compiler_that_fails(self):
        self.program("""
m = net()
def toggle(i):
    if i == 10: assert put(compile="on") == {}
    if i == 20: assert put(compile="off") == {}
    if i == 25:
        assert put(compile="on") == {}
    if i == 30:
        from torch._dynamo.exc import TorchDynamoException
        def fails(*a, **k): raise TorchDynamoException("no luck")
        m.__dict__["_compiled_call_impl"].args[1].__class__
        import functools
        m.__dict__["_compiled_call_impl"] = functools.partial(loop.guest.extra.call_compiled, m.__dict__["_compiled_call_impl"].args[0], fails)
losses = train(m, torch.optim.SGD(m.parameters(), lr=0.1), data(), 40, toggle)
got = reader.read()
assert loop.knobs["compile"].value == "off" and "no luck" in loop.knobs["compile"].why
assert any("no luck" in t for _, t in got["texts"]), got["texts"]
import io
torch.save(m, io.BytesIO())
""")

    def test_workers_and_prefetch_from_the_next_epoch(self):
        self.program("""
m, d = net(), data()
def toggle(i):
    if i == 3: assert put(prefetch="4") == {"prefetch": "the DataLoader has no workers"}
    if i == 4: assert put(workers="2") == {}
    if i == 5: assert put(prefetch="3") == {}
    if i == 10: assert (d.num_workers, d.prefetch_factor) == (2, 3)
    if i == 20: assert put(workers="0") == {}
a = train(m, torch.optim.SGD(m.parameters(), lr=0.1), d, 40, toggle)
loop.knobs.clear(); loop.forget()
m = net()
assert a == train(m, torch.optim.SGD(m.parameters(), lr=0.1), data(), 40), "the same batches"
""")

    def test_matmul_threads_and_attention(self):
        self.program("""
class T(nn.Module):
    def __init__(self):
        super().__init__(); self.f = nn.Linear(128, 16); self.t = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True); self.o = nn.Linear(16, 4)
    def forward(self, x): return self.o(self.t(self.f(x.flatten(1)).unsqueeze(1)).mean(1))
m = T()
def toggle(i):
    if i == 5: assert put(matmul="medium", threads="1", attention="math") == {}, put(matmul="medium")
    if i == 6: assert torch.get_float32_matmul_precision() == "medium" and not torch.backends.cuda.flash_sdp_enabled()
    if i == 10: assert put(matmul="highest", attention="auto") == {}
    if i == 11: assert torch.backends.cuda.flash_sdp_enabled()
    if i == 12: assert put(attention="efficient", pin_memory="on", cudnn_benchmark="on") == {
        "attention": "only on a GPU", "pin_memory": "the model is not on a CUDA device", "cudnn_benchmark": "the model is not on a CUDA device"}
train(m, torch.optim.SGD(m.parameters(), lr=0.1), data(), 20, toggle)
""")

    def test_a_kept_state_gives_the_same_steps_again(self):
        self.program("""
torch.manual_seed(1)
m = nn.Sequential(nn.Conv2d(2, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Dropout(0.5), nn.Flatten(), nn.Linear(8 * 36, 4))
o = torch.optim.AdamW(m.parameters(), lr=1e-3)
class Schedule:
    pass
schedule = torch.optim.lr_scheduler.ExponentialLR(o, 0.99)
torch.manual_seed(2)
d = DataLoader(TensorDataset(torch.randn(400, 2, 8, 8), torch.randint(0, 4, (400,))), 8, shuffle=True)
def ask(**doc):
    reader.send(doc)
texts = {}
def toggle(i):
    schedule.step()
    if i == 10: ask(state="keep", steps=20)
    if i in (20, 30): ask(state="return")
    if i == 40: ask(state="drop")
losses = train(m, o, d, 48, toggle)
answers = [(a.result, a.text) for a in reader.read()["answers"]]
assert answers == [(5, {}), (0, {}), (6, {}), (0, {}), (6, {}), (0, {}), (7, {}), (0, {})], answers
# The state is kept at the boundary after step 10, so that step 11 is the first of each arm.
assert losses[12:21] == losses[22:31] == losses[32:41], losses
""")

    def test_a_state_kept_while_batches_are_given_again_loses_none(self):
        """An epoch of 24 batches in which a state is kept and returned to twice, the second time before all batches of the first were given again, and
        once more shortly before the epoch's end, so that the loop cannot go back: nothing of what it learned is taken back then."""
        self.program("""
import weakref
class Gone: pass
gone = Gone()
proxy = weakref.proxy(gone)  # to look at it is an error
del gone
torch.manual_seed(1)
m = nn.Linear(1, 1, bias=False)
o = torch.optim.SGD(m.parameters(), lr=1e-4)
d = DataLoader(TensorDataset(torch.arange(24.0).reshape(24, 1), torch.zeros(24, 1)))
seen, weights, n = [], [m.weight.item()], 0
said = {27: dict(state="keep", steps=4), 30: dict(state="return"), 31: dict(state="drop", watch="boundaries"),
        32: dict(state="keep", steps=4), 34: dict(state="return"), 36: dict(state="drop"),
        47: dict(state="keep", steps=4), 55: dict(state="return"), 57: dict(state="drop")}
for epoch in range(3):
    for x, y in d:
        seen.append(int(x[0, 0]))
        o.zero_grad(); F.mse_loss(m(x), y).backward()
        n += 1
        if n == 3: reader = ring_reader.find(os.environ["PRISMTOP_LOOP"])
        if n in said: reader.send(said[n]); loop.due = 0  # it is in force at the end of this step
        o.step()
        weights.append(m.weight.item())
whole = list(range(24))
assert seen == whole + [0, 1, 2, 3, 4, 5, 3, 4, 5, 6, 5, 6] + whole[7:] + whole, seen
for n in range(1, len(weights)):
    w, x = weights[n - 1], seen[n - 1]
    want = weights[{30: 27, 34: 32}[n]] if n in (30, 34) else w - 1e-4 * 2 * x * x * w
    assert abs(weights[n] - want) < 1e-6, n
got = [(a.result, a.text) for a in reader.read()["answers"] if a.result]
assert got == [(5, {}), (6, {}), (7, {}), (1, {"watch": "batches are given again"}), (5, {}), (6, {}), (7, {}), (5, {}), (1, {"state": "its epoch is over, and the batches with it"}), (7, {})], got
""")


@unittest.skipIf(torch is None, "this Python has no PyTorch")
class Profiler(Case):
    def test_phases_are_those_of_torch_profiler(self):
        """For 100 steps, the phases' sums are within 3 % of what torch.profiler says of the same steps."""
        out = subprocess.run([sys.executable, os.path.join(HERE, "beside_profiler.py")], env=self.environment(), capture_output=True, text=True, timeout=600)
        self.assertEqual(out.returncode, 0, out.stdout + out.stderr)


class Ranks(Case):
    def train(self, name, *arguments, changes=(), ahead=60, hooked=True):
        """Runs two ranks of a loop, with changes that both agree to so many steps ahead; returns what each printed and what its ring had."""
        import socket
        import time
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        env = dict(self.environment(hooked), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=port, GLOO_SOCKET_IFNAME="lo", USE_LIBUV="0")
        ranks, outputs = [], [os.path.join(self.folder, f"out{r}") for r in (0, 1)]
        for rank, output in enumerate(outputs):
            with open(output, "w") as f:
                ranks.append(subprocess.Popen([sys.executable, os.path.join(LOOPS, name), *map(str, arguments)],
                                              env=dict(env, RANK=str(rank), LOCAL_RANK=str(rank)), stdout=f, stderr=subprocess.STDOUT))
        self.readers, got, asked, done, link = [None, None], [{}, {}], 0, 0, None
        deadline = time.time() + 240
        while any(p.poll() is None for p in ranks) and time.time() < deadline:
            time.sleep(0.002)
            readers = self.readers = [r or (ring_reader.find(self.folder, n) if hooked else None) for n, r in enumerate(self.readers)]
            if None in readers or any(r.u64(64) == 0 for r in readers):
                continue
            for n, r in enumerate(readers):
                r.beat()
                for key, records in r.read().items():
                    got[n].setdefault(key, []).extend(records)
            steps = [g["steps"][-1].step if g.get("steps") else -1 for g in got]
            answers = [[a for a in g.get("answers", []) if a.generation == asked] for g in got]
            if min(steps) < (asked + 1) * ahead // 3:
                continue
            if link is None and done < len(changes):
                asked += 1
                link = os.path.join(self.folder, f"ring.agreed-{asked}")
                for r in readers:
                    r.send({"set": changes[done], "from": max(steps) + ahead, "agreement": os.path.basename(link)})
            elif link and all(a and a[0].result == 8 for a in answers) and not os.path.lexists(link):
                os.symlink("yes", link)
            elif link and any(a and a[0].text for a in answers):
                self.fail(f"{changes[done]} refused: {[a[0].text for a in answers if a]}")
            elif link and all(len(a) == 2 for a in answers):
                first, second = (a[1] for a in answers)
                self.assertEqual((first.result, first.step), (second.result, second.step))
                self.assertIn(first.result, (0, 9))  # in force, or cancelled because this test was late
                done, link = done + (first.result == 0), None
        for p in ranks:
            if p.poll() is None:
                p.kill()
            p.wait()
        texts = []
        for output in outputs:
            with open(output) as f:
                texts.append(f.read())
        self.assertEqual([p.returncode for p in ranks], [0, 0], texts)
        self.assertEqual((done, link), (len(changes), None), texts)
        shutil.rmtree(self.folder)
        os.mkdir(self.folder, 0o700)
        return texts, got

    def test_two_ranks_change_at_one_step_and_keep_the_same_weights(self):
        texts, got = self.train("ddp.py", 900, 1, 4, changes=[{"autocast": "bf16"}, {"optimizer": "fused"}, {"autocast": "off"}])
        self.assertIn("same weights: True", texts[0])
        names = [p["name"] for p in self.readers[0].greeting()["phases"]]
        self.assertEqual(names[-1], "exchange")
        own = [sorted(s.host[BACKWARD] for s in g["steps"][50:]) for g in got]
        self.assertGreater(own[1][len(own[1]) // 2] - own[0][len(own[0]) // 2], 2e6, "the slow rank's backward is longer")

    def test_a_sharded_model(self):
        for way in (1, 2):
            with self.subTest(["", "FullyShardedDataParallel", "fully_shard"][way]):
                plain, _ = self.train("fsdp.py", way, 100, hooked=False)
                texts, got = self.train("fsdp.py", way, 100, changes=[{"gc": "off"}, {"checkpointing": "on"}], ahead=15)
                self.assertIn("weights", plain[0])
                self.assertEqual(texts, plain, "losses and weights, bit for bit")
                self.assertNotIn("exchange", [p["name"] for p in self.readers[0].greeting()["phases"]], "ranks wait in forward, too")
                for steps in (g["steps"] for g in got):
                    self.assertTrue(all(s.host[FORWARD] > 0 and s.host[BACKWARD] > 0 and s.passes == 1 for s in steps[5:]))
                self.train("fsdp.py", way, 100, changes=[{"autocast": "bf16"}, {"optimizer": "fused"}], ahead=15)


if __name__ == "__main__":
    unittest.main()
