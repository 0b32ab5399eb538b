"""DistributedDataParallel on gloo processes, as in PyTorch's tutorial; knows nothing of prismtop. ddp.py STEPS [RANK MORE [EACH]]: the
rank's backward takes so many milliseconds longer, or, as 10%, a share of a step, and each rank's sleeps for some milliseconds, so that ranks may be
more than processors. At the end it says whether all ranks hold the same weights, bit for bit."""
import sys
import time

import torch
import torch.distributed as dist
import torch.nn as nn

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.set_num_threads(1)
torch.manual_seed(1)
steps = int(sys.argv[1])
more = sys.argv[3] if len(sys.argv) > 3 and int(sys.argv[2]) == rank else "0"
each = float(sys.argv[4]) / 1000 if len(sys.argv) > 4 else 0
begun, took = time.monotonic(), each  # of the step under way, and of a step so far


def longer():
    """How long this rank's backward sleeps, in seconds."""
    return each + (took * float(more[:-1]) / 100 if more.endswith("%") else float(more) / 1000)


class Slow(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        time.sleep(longer())
        return g


model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
ddp = nn.parallel.DistributedDataParallel(model)
opt = torch.optim.AdamW(ddp.parameters(), lr=1e-3)
g = torch.Generator().manual_seed(rank)
for n in range(steps):
    x, y = torch.randn(64, 256, generator=g), torch.randint(0, 10, (64,), generator=g)
    opt.zero_grad()
    loss = nn.functional.cross_entropy(Slow.apply(ddp(x)), y)
    loss.backward()
    opt.step()
    took, begun = 0.9 * took + 0.1 * (time.monotonic() - begun), time.monotonic()
w = torch.cat([p.detach().flatten() for p in model.parameters()])
all_ranks = [torch.zeros_like(w) for _ in range(world)]
dist.all_gather(all_ranks, w)
if rank == 0:
    print("steps", steps, "same weights:", all(torch.equal(w, other) for other in all_ranks), flush=True)
dist.destroy_process_group()
