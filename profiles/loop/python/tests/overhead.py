"""What the module costs a step: one process trains a loop, block by block with the module's hooks and without them in an order drawn anew for each
pair of blocks, and says how much processor time its thread took a step, boundaries included. overhead.py [SECONDS [LOOP]...].

The loop long takes 5 ms a step on one thread. cuda and cuda-long need a GPU: of the first the launches take most of the time, of the second the
kernels. Their time is the clock's, from an idle device to an idle device.

Two processes would differ by where their memory lies, by up to a fifth of such a step and for as long as they run: more than what is looked for.
Blocks are short, so that other programs disturb both of a pair alike. No boundary comes in one: what is done there is timed by itself, as often as a
loop does it, and divided by its steps. PRISMTOP_MODULE names the folder of another module to measure."""
import os
import random
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MODULE = os.environ.get("PRISMTOP_MODULE", os.path.dirname(HERE))
BLOCK = {"tiny": 200, "cnn": 20, "long": 8, "cuda": 20, "cuda-long": 10}  # steps, after half as many that are not timed
LONG = 5e6  # ns, of a step of the loop long


def measure(which, mode, seconds):
    """Trains a loop by turns with the hooks and without, and prints the difference. mode is watched or nobody watches."""
    sys.path[:0] = [MODULE, HERE]
    os.environ["PRISMTOP_LOOP"] = folder = tempfile.mkdtemp(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
    import prismtop
    import ring_reader
    import torch
    import torch.nn as nn
    import torch.nn.functional as F
    from torch.optim import optimizer as optim
    from torch.utils.data import DataLoader, TensorDataset
    torch.set_num_threads(1)
    torch.manual_seed(1)
    device = torch.device("cuda" if which.startswith("cuda") else "cpu")
    if which == "tiny":
        model, size, loss_of = nn.Linear(8, 8), 16, F.mse_loss
        data = TensorDataset(torch.randn(4096, 8), torch.randn(4096, 8))
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    else:
        size, wide = {"cuda": (64, 8), "cuda-long": (1024, 64)}.get(which, (8, 8))
        model = nn.Sequential(nn.Conv2d(1, wide, 3), nn.ReLU(), nn.Conv2d(wide, 2 * wide, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(2 * wide * 144, 64), nn.ReLU(),
                              nn.Linear(64, 10)).to(device)
        data, loss_of = TensorDataset(torch.randn(4096, 1, 28, 28), torch.randint(0, 10, (4096,))), F.cross_entropy
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def batches(size):
        if device.type == "cuda":  # one batch, so that its copy is all that the host does for it
            kept = [x[:size] for x in data.tensors]
            while True:
                yield kept
        loader = DataLoader(data, size)
        while True:
            yield from loader

    def steps(n, source):
        for _ in range(n):
            x, y = next(source)
            x, y = x.to(device), y.to(device)
            optimizer.zero_grad()
            loss_of(model(x), y).backward()
            optimizer.step()

    def timed(n, source):
        if device.type == "cpu":
            clock, settle = time.thread_time_ns, lambda: None  # noqa: E731
        else:
            clock, settle = time.monotonic_ns, torch.cuda.synchronize
        settle()
        begun = clock()
        steps(n, source)
        settle()
        return (clock() - begun) / n
    source = batches(size)
    steps(100, source)  # from the 64th step on the patches take the short way
    loop, guest, reader = prismtop.LOOP, prismtop.LOOP.guest, ring_reader.find(folder)
    while mode != "watched" and loop.watch == "all":  # it notices after some seconds
        steps(10, source)

    def off():
        guest.cool()
        guest.unhook()

    def on():
        guest.handles = [optim.register_optimizer_step_pre_hook(guest.before_step), optim.register_optimizer_step_post_hook(guest.after_step)]
        for patch in guest.patches if mode == "watched" else []:
            patch.put()
        guest.settle()
        loop.due = 1 << 62

    def boundary():
        """What is done at a boundary, which comes after so many steps."""
        begun = time.thread_time_ns()
        loop.turn()
        return time.thread_time_ns() - begun
    off()
    if which == "long":
        fitted = batches(32)
        timed(8, fitted)
        source = batches(max(1, round(32 * LONG / min(timed(8, fitted) for _ in range(9)))))
    pairs, boundaries, waiting, until, block = [], [], 0, time.time() + seconds, BLOCK[which]
    while time.time() < until or len(pairs) < 20:
        pair = [0.0, 0.0]
        for hooked in random.sample((0, 1), 2):
            if hooked:
                on()
            if mode == "watched":
                reader.beat(time.monotonic_ns())
            steps(block // 2, source)
            pair[hooked] = timed(block, source)
            waiting += hooked * (block + block // 2)
            if hooked and waiting * pair[1] >= prismtop.LAG:
                boundaries.append(boundary() / waiting)
                waiting = 0
            if hooked:
                off()
        pairs.append(pair)
    assert loop.live and (loop.watch == "all") == (mode == "watched")
    differences, n = sorted(b - a for a, b in pairs), len(pairs)
    plain = sorted(a for a, _ in pairs)[n // 2]
    middle, low, high = (differences[min(max(0, int(n / 2 + k * n ** .5)), n - 1)] for k in (0, -1, 1))
    each = sum(boundaries) / len(boundaries)
    print(f"{which}, {mode}: a step takes {plain / 1e6:.3f} ms, with prismtop {(middle + each) / 1e3:+.1f} us [{(low + each) / 1e3:+.1f}, {(high + each) / 1e3:+.1f}] = "
          f"{100 * (middle + each) / plain:+.2f} %: hooks, by the median of {n} pairs of blocks of {BLOCK[which]} steps with its 95 % interval, and {each / 1e3:.1f} us of {len(boundaries)} boundaries", flush=True)


def parts():
    """The parts of a step's cost in a loop that does nothing else, so that they are in the processor's caches."""
    sys.path[:0] = [MODULE, HERE]
    os.environ["PRISMTOP_LOOP"] = tempfile.mkdtemp(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
    import prismtop
    loop, telescope = prismtop.LOOP, prismtop.phase("telescope")

    def empty():
        with telescope:
            pass
    without = [("prismtop.log without a reader", lambda: prismtop.log(a=1)), ("prismtop.phase without a reader", empty)]
    for name, call in without + [("the clock", time.monotonic_ns), ("a moment", lambda: loop.event(0)), ("a record", lambda: loop.ring.publish(loop.ring.scratch)),
                                 ("a look at the settings", lambda: loop.ring.words[16] != loop.ring.seen)]:
        if name == "the clock":
            for _ in range(4):
                prismtop.step()
        best = float("inf")
        for _ in range(15):
            t = time.thread_time_ns()
            for _ in range(2000):
                call()
            best = min(best, (time.thread_time_ns() - t) / 2000)
        print(f"{name}: {best:.0f} ns at best", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        measure(sys.argv[2], sys.argv[3], float(sys.argv[4]))
    else:
        for loop_ in sys.argv[2:] or ["tiny", "cnn"]:
            for mode_ in ("watched", "nobody watches"):
                subprocess.run([sys.executable, "-B", os.path.abspath(__file__), "--one", loop_, mode_, sys.argv[1] if len(sys.argv) > 1 else "60"], check=True)
        parts()
