"""Compares the phases of 100 steps with what torch.profiler says of the same steps; exit status 1 beyond 3 %.

A range of the profiler costs some microseconds at each of its ends, which are inside prismtop's moments or outside them. So each
phase has a range around prismtop's moments and one between them: prismtop's time must be between the two, or within 3 % of the
nearer. What prismtop does at a boundary is done by a hook, which is in the profiler's range of the optimizer; how long that
took is in the records.
"""
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
engine = torch.autograd._engine_run_backward


def inside_backward(*args, **kwargs):
    with record_function("inside backward"):
        return engine(*args, **kwargs)


class Net(nn.Sequential):
    def forward(self, x):
        with record_function("inside forward"):
            return super().forward(x)


class Own(torch.optim.AdamW):
    def step(self, closure=None):
        with record_function("inside optimizer"):
            return super().step(closure)


torch.autograd._engine_run_backward = inside_backward
model = Net(nn.Conv2d(1, 16, 3), nn.ReLU(), nn.Conv2d(16, 16, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16 * 144, 256), nn.ReLU(), nn.Linear(256, 10))
optimizer = Own(model.parameters(), lr=1e-3)
loader = DataLoader(TensorDataset(torch.randn(120 * 32, 1, 28, 28), torch.randint(0, 10, (120 * 32,))), 32)
reader = None


def run(steps):
    iterator = iter(loader)
    for n in range(steps):
        with record_function("around data"):
            x, y = next(iterator)
        optimizer.zero_grad()
        with record_function("around forward"):
            out = model(x)
        loss = F.cross_entropy(out, y)
        with record_function("around backward"):
            loss.backward()
        optimizer.step()
        if reader and n % 10 == 0:
            reader.beat()  # or only boundaries would be watched after some seconds


def records():
    """The steps since the last time, those that are not published yet among them."""
    prismtop.LOOP.fold()
    return reader.read()["steps"]


run(100)  # from the 64th step on the patches take the short way
reader = ring_reader.find(os.environ["PRISMTOP_LOOP"])
run(20)  # while nobody read, only boundaries may have been watched
records()
with profile(activities=[ProfilerActivity.CPU], acc_events=True) as profiler:
    run(100)
steps = records()
assert len(steps) == 100 and not any(s.flags & 16 for s in steps), len(steps)
said = {e.key: e.cpu_time_total * 1e3 for e in profiler.key_averages()}
said["inside data"] = said["enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"]
said["around optimizer"] = said["Optimizer.step#Own.step"] - sum(s.own for s in steps)
worst = 0
for index, phase in ((0, "data"), (2, "forward"), (4, "backward"), (6, "optimizer")):
    ours, inside, around = sum(s.host[index] for s in steps), said[f"inside {phase}"], said[f"around {phase}"]
    beyond = max(0, 100 * (ours / around - 1), 100 * (1 - ours / inside))
    worst = max(worst, beyond)
    print(f"{phase}: prismtop {ours / 1e8:.3f} ms a step; torch.profiler {inside / 1e8:.3f} between its moments ({100 * (ours / inside - 1):+.2f} %) and "
          f"{around / 1e8:.3f} around them ({100 * (ours / around - 1):+.2f} %): {'between' if not beyond else f'{beyond:.2f} % beyond'}")
sys.exit(worst > 3)
