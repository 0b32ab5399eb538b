"""A training with the stand-in for PyTorch, whose steps take some milliseconds: until a file named stop is there, or this one is not."""
import functools
import os
import sys
import time

import torch

try:
    import prismtop
    extra = prismtop.knob("extra", True, help="compute twice as long", touches=["forward"], compared=["on", "off"])
except ImportError:  # nobody started it with prismtop
    prismtop = extra = None


@functools.lru_cache(maxsize=None)
def mask(n):
    time.sleep(0.004)
    return n


class Net(torch.nn.Module):
    def forward(self, x):
        mask(step % 8)
        time.sleep(0.004 if extra is None or extra.value else 0.002)
        return x


if prismtop:
    mask = prismtop.cache(mask, title="masks")


def ends():
    return os.path.exists("stop") or not os.path.exists(__file__)  # the folder of a test that has ended


step = 0
net = Net()
optimizer = torch.optim.Optimizer(net.parameters())
while not ends():
    for x, _ in torch.utils.data.DataLoader(200):
        optimizer.zero_grad()
        net(x)
        torch.Tensor(1 / (1 + step)).backward()
        optimizer.step()
        step += 1
        if step % 50 == 0:
            print("step", step, flush=True)
        if ends():
            break
patched = [name for name, there in [("hooks", torch.before or torch.after), ("call", "__call__" in vars(Net)), ("backward", hasattr(torch.autograd.backward, "__wrapped__")),
                                    ("next", hasattr(torch.utils.data.dataloader._BaseDataLoaderIter.__next__, "__wrapped__")), ("excepthook", sys.excepthook is not sys.__excepthook__),
                                    ("environment", "PRISMTOP_LOOP" in os.environ)] if there]
print("left behind:", *patched, flush=True)
