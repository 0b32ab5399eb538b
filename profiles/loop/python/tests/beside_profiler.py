"""Compares the phases of 100 steps with what torch.profiler says of the same steps; exit status 1 beyond 3 %."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), HERE]
import prismtop  # noqa: E402
import torch  # noqa: E402
import torch.nn as nn  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch.profiler import ProfilerActivity, profile, record_function  # noqa: E402
from torch.utils.data import DataLoader, TensorDataset  # noqa: E402

import ring_reader  # noqa: E402

torch.set_num_threads(1)
torch.manual_seed(1)
model = nn.Sequential(nn.Conv2d(1, 16, 3), nn.ReLU(), nn.Conv2d(16, 16, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16 * 144, 256), nn.ReLU(), nn.Linear(256, 10))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
loader = DataLoader(TensorDataset(torch.randn(120 * 32, 1, 28, 28), torch.randint(0, 10, (120 * 32,))), 32)


reader = None


def run(steps):
    n = 0
    for x, y in loader:
        optimizer.zero_grad()
        with record_function("user forward"):
            out = model(x)
        loss = F.cross_entropy(out, y)
        with record_function("user backward"):
            loss.backward()
        optimizer.step()
        n += 1
        if reader and n % 10 == 0:
            reader.beat()  # or only boundaries would be watched after some seconds
        if n == steps:
            return


def records():
    """The steps since the last time, those that are not published yet among them."""
    prismtop.LOOP.fold()
    return reader.read()["steps"]


run(100)  # from the 64th step on the patches take the short way
reader = ring_reader.find(os.environ["PRISMTOP_LOOP"])
records()
with profile(activities=[ProfilerActivity.CPU], acc_events=True) as profiler:
    run(100)
steps = records()
assert len(steps) == 100, len(steps)
said = {e.key: e.cpu_time_total * 1e3 for e in profiler.key_averages()}
worst = 0
for phase, key in ((0, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"), (2, "user forward"), (4, "user backward"), (6, "Optimizer.step#AdamW.step")):
    ours = sum(s.host[phase] for s in steps)
    differs = 100 * (ours / said[key] - 1)
    worst = max(worst, abs(differs))
    print(f"{['data', 'prepare', 'forward', 'loss', 'backward', 'clip', 'optimizer'][phase]}: prismtop {ours / 1e8:.3f} ms a step, torch.profiler {said[key] / 1e8:.3f}: {differs:+.2f} %")
sys.exit(worst > 3)
