"""What the module costs a step: blocks with everything and without anything by turns in one process, in processor time of
the thread that trains. overhead.py [GROUPS [tiny] [cnn]]: each group is four blocks, on off off on or mirrored by a coin; with 95 % intervals.

A block counts by its mean, in which the boundaries are at which records go out, and by the median of its steps, which has none of them. The last line of each
loop is the best block with everything less the best without: other programs on the machine disturb it least."""
import math
import os
import random
import statistics
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.environ.get("PRISMTOP_MODULE", os.path.dirname(HERE)), HERE]  # another one, to compare
folder = tempfile.mkdtemp(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
os.environ["PRISMTOP_LOOP"] = folder
import prismtop  # noqa: E402
import torch  # noqa: E402
import torch.nn as nn  # noqa: E402
import torch.nn.functional as F  # noqa: E402
import torch.optim.optimizer as hooks  # noqa: E402
from torch.utils.data import DataLoader, TensorDataset  # noqa: E402

import ring_reader  # noqa: E402

torch.set_num_threads(1)
groups = int(sys.argv[1]) if len(sys.argv) > 1 else 30
cpu = time.thread_time_ns
loop = prismtop.LOOP


def tiny():
    model = nn.Linear(8, 8)
    return model, TensorDataset(torch.randn(4096, 8), torch.randn(4096, 8)), 16, F.mse_loss


def cnn():
    model = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Conv2d(8, 16, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16 * 144, 64), nn.ReLU(), nn.Linear(64, 10))
    return model, TensorDataset(torch.randn(4096, 1, 28, 28), torch.randint(0, 10, (4096,))), 8, F.cross_entropy


def switch(on, kept={}):
    """Puts every patch and hook on that is there at present, or takes it off. Classes that stay as they are keep their specialised code."""
    if kept.get("on", True) == on:
        return
    kept["on"] = on
    for patch in loop.guest.patches if loop.watch == "all" else []:
        patch.put() if on else patch.take()
    for place in (hooks._global_optimizer_pre_hooks, hooks._global_optimizer_post_hooks):
        kept.setdefault(id(place), dict(place))
        place.clear()
        if on:
            place.update(kept[id(place)])


def interval(values):
    """The median of the means of pairs and its 95 % interval, by the signed rank."""
    n = len(values)
    walsh = sorted((a + b) / 2 for i, a in enumerate(values) for b in values[i:])
    k = max(0, int(len(walsh) / 2 - 1.96 * math.sqrt(n * (n + 1) * (2 * n + 1) / 24)))
    return statistics.median(walsh), walsh[k], walsh[-k - 1]


def measure(make, watched):
    torch.manual_seed(1)
    model, data, size, loss_of = make()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4) if make is cnn else torch.optim.SGD(model.parameters(), lr=1e-4)
    loader = DataLoader(data, size)

    def batches():
        while True:
            yield from loader
    source = batches()

    def step():
        x, y = next(source)
        optimizer.zero_grad()
        loss_of(model(x), y).backward()
        optimizer.step()
    loop.knobs.clear()
    loop.forget()
    for _ in range(80):
        step()
    reader = ring_reader.find(folder)
    while not watched and loop.watch == "all":  # it notices after some seconds
        step()
    t, n = cpu(), 0
    while cpu() - t < 300e6:
        step()
        n += 1
    each = max(30, int(100e6 / ((cpu() - t) / n)))
    coin, best, by = random.Random(1), {True: math.inf, False: math.inf}, {"mean": ([], []), "median": ([], [])}
    for _ in range(groups):
        blocks = {True: [], False: []}
        for on in [True, False, False, True] if coin.random() < .5 else [False, True, True, False]:
            reader.beat(time.monotonic_ns() if watched else 0)
            switch(on)
            for _ in range(150):  # Python specialises its code again after a class has changed
                step()
            times = []
            for _ in range(each):
                t = cpu()
                step()
                times.append(cpu() - t)
            blocks[on].append(times)
            best[on] = min(best[on], statistics.fmean(times))
        for name, (plain, differences) in by.items():
            took = {on: [getattr(statistics, name)(t) for t in blocks[on]] for on in blocks}
            plain += took[False]
            differences.append((sum(took[True]) - sum(took[False])) / 2)
    switch(True)
    for name, (plain, differences) in by.items():
        middle, low, high = interval(differences)
        base = statistics.median(plain)
        print(f"{make.__name__}, {'watched' if watched else 'nobody watches'}, {name}: a step takes {base / 1e6:.3f} ms, with prismtop {middle / 1e3:+.1f} us [{low / 1e3:+.1f}, {high / 1e3:+.1f}] = "
              f"{100 * middle / base:+.2f} % [{100 * low / base:+.2f}, {100 * high / base:+.2f}], {groups} groups of 4 blocks of {each} steps", flush=True)
    print(f"{make.__name__}, {'watched' if watched else 'nobody watches'}, best block: {best[False] / 1e6:.3f} ms, with prismtop {(best[True] - best[False]) / 1e3:+.1f} us", flush=True)


def part(name, call, n=2000):
    took = []
    for _ in range(15):
        t = cpu()
        for _ in range(n):
            call()
        took.append((cpu() - t) / n)
    print(f"{name}: {statistics.median(took):.0f} ns (best {min(took):.0f})", flush=True)


def record():
    """Fills and publishes the record of a step, as end_step does."""
    r, q = loop.ring, loop.ring.q
    q[1] = 1
    q[2], q[3], q[4], q[5], q[6] = 1, 2, 3, 4, 5
    q[8:24], q[64] = loop.acc, 7
    r.d[40:64] = loop.values
    r.publish(r.scratch)


for make in [f for f in (tiny, cnn) if f.__name__ in sys.argv[2:] or len(sys.argv) < 3]:
    for watched in (True, False):
        measure(make, watched)
part("the clock", time.monotonic_ns)
part("a moment", lambda: loop.event(0))
part("a record", record)
part("a look at the settings", lambda: loop.ring.words[16] != loop.ring.seen)
ring, loop.ring = loop.ring, None
part("prismtop.log without a reader", lambda: prismtop.log(a=1))
telescope = prismtop.phase("telescope")


def empty():
    with telescope:
        pass


part("prismtop.phase without a reader", empty)
