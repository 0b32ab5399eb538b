"""What the module costs a step: two processes train the same loop, one with the module and one without, block by block in an order drawn
anew each time, and each says how much processor time its thread took a step, boundaries included. overhead.py [SECONDS [LOOP]...].

The loop long takes 5 ms a step on one thread. cuda and cuda-long need a GPU: of the first the launches take most of the time, of the second the
kernels. Their time is the clock's, from an idle device to an idle device.

Blocks are short and paired, so that other programs disturb both alike. PRISMTOP_MODULE names the folder of another module to measure."""
import os
import random
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MODULE = os.environ.get("PRISMTOP_MODULE", os.path.dirname(HERE))
BLOCK = {"tiny": 50, "cnn": 10, "long": 4, "cuda": 20, "cuda-long": 10}  # steps
LONG = 5e6  # ns, of a step of the loop long


def child(which, mode):
    """Trains a block for each line of standard input. The loop long first reads the size of its batches, or fits it and says it."""
    sys.path[:0] = [MODULE, HERE]
    if mode != "plain":
        os.environ["PRISMTOP_LOOP"] = folder = tempfile.mkdtemp(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
        import prismtop
    import torch
    import torch.nn as nn
    import torch.nn.functional as F
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
    if which == "long":
        size = int(sys.stdin.readline())

    def batches(size):
        if which.startswith("cuda"):  # one batch, so that its copy is all that the host does for it
            kept = [x[:size] for x in data.tensors]
            while True:
                yield kept
        loader = DataLoader(data, size)
        while True:
            yield from loader
    source = batches(size or 32)

    def steps(n):
        for _ in range(n):
            x, y = next(source)
            x, y = x.to(device), y.to(device)
            optimizer.zero_grad()
            loss_of(model(x), y).backward()
            optimizer.step()

    def timed(n):
        if device.type == "cpu":
            clock, settle = time.thread_time_ns, lambda: None  # noqa: E731
        else:
            clock, settle = time.monotonic_ns, torch.cuda.synchronize
        settle()
        begun = clock()
        steps(n)
        settle()
        return (clock() - begun) / n
    if not size:
        timed(8)
        print(max(1, round(32 * LONG / min(timed(8) for _ in range(5)))), flush=True)
        return
    steps(40 if which == "long" else 300)
    beat = lambda: None  # noqa: E731
    if mode == "watched":
        import ring_reader
        reader = ring_reader.find(folder)
        beat = lambda: reader.beat(time.monotonic_ns())  # noqa: E731
    while mode == "nobody watches" and prismtop.LOOP.watch == "all":  # it notices after some seconds
        steps(10)
    print("ready", flush=True)
    for _ in sys.stdin:
        beat()
        steps(BLOCK[which] // 2)
        print(timed(BLOCK[which]), flush=True)


class Child:
    """A process that trains."""

    def __init__(self, which, mode):
        self.process = subprocess.Popen([sys.executable, "-B", os.path.abspath(__file__), "--child", which, mode], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, line=""):
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline()

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def begin(which, mode):
    """Two processes that train a loop, without prismtop and in a mode with it."""
    children = [Child(which, m) for m in ("plain", mode)]
    if which == "long":
        fit = Child(which, "plain")
        size = fit.ask(0).strip()
        fit.end()
        for c in children:
            c.process.stdin.write(f"{size}\n")
            c.process.stdin.flush()
    return children


def measure(which, mode, seconds, children=None):
    children = children or begin(which, mode)
    for c in children:
        c.process.stdout.readline()
    pairs, until = [], time.time() + seconds
    while time.time() < until or len(pairs) < 20:
        pair = [0.0, 0.0]
        for i in random.sample((0, 1), 2):
            pair[i] = float(children[i].ask())
        pairs.append(pair)
    for c in children:
        c.end()
    differences, n = sorted(b - a for a, b in pairs), len(pairs)
    plain = sorted(a for a, _ in pairs)[n // 2]
    middle, low, high = (differences[min(max(0, int(n / 2 + k * n ** .5)), n - 1)] for k in (0, -1, 1))
    print(f"{which}, {mode}: a step takes {plain / 1e6:.3f} ms, with prismtop {middle / 1e3:+.1f} us [{low / 1e3:+.1f}, {high / 1e3:+.1f}] = {100 * middle / plain:+.2f} %, "
          f"median of {n} pairs of blocks of {BLOCK[which]} steps with its 95 % interval", flush=True)


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
    if sys.argv[1:2] == ["--child"]:
        child(*sys.argv[2:4])
    else:
        for loop_ in sys.argv[2:] or ["tiny", "cnn"]:
            for mode_ in ("watched", "nobody watches"):
                measure(loop_, mode_, float(sys.argv[1]) if len(sys.argv) > 1 else 60)
        parts()
