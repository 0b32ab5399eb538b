"""A fully sharded model on gloo processes; knows nothing of prismtop. fsdp.py 1|2 STEPS: with FullyShardedDataParallel or fully_shard. Every
rank prints its losses, and rank 0 a digest of the whole weights at the end."""
import hashlib
import sys

import torch
import torch.distributed as dist
import torch.nn as nn

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.set_num_threads(1)
torch.manual_seed(1)
way, steps = int(sys.argv[1]), int(sys.argv[2])


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first, self.second = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.second(torch.relu(self.first(x)))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block(128) for _ in range(3))
        self.last = nn.Linear(128, 10)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.last(x)


model = Net()
if way == 1:
    from torch.distributed.fsdp import FullyShardedDataParallel
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy
    model = FullyShardedDataParallel(model, auto_wrap_policy=ModuleWrapPolicy({Block}), device_id=torch.device("cpu"), use_orig_params=True)
else:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
g = torch.Generator().manual_seed(rank)
for n in range(steps):
    x, y = torch.randn(32, 128, generator=g), torch.randint(0, 10, (32,), generator=g)
    opt.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    opt.step()
    print(rank, n, loss.item().hex(), flush=True)
digest = hashlib.sha256()
if way == 1:
    with FullyShardedDataParallel.summon_full_params(model):
        for p in model.parameters():
            digest.update(p.detach().clone().numpy().tobytes())  # the weights themselves must stay resizable
else:
    for p in model.parameters():
        digest.update(p.full_tensor().detach().numpy().tobytes())
print("weights", digest.hexdigest()[:16], flush=True)
dist.destroy_process_group()
