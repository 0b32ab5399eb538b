"""PtychoPINN's inference and CytoDL's DynUNet in PyTorch on a CUDA device, eager, compiled, or as one CUDA graph.

Prints one JSON object a measurement: the median time of a batch in milliseconds with the least and the most, over
rounds that end with a synchronisation. TF32 is off in fp32. docs/performance.md compares prismtop with it.

    python3 networks_gpu.py --what ptycho --batches 1,32,128 --amp fp32 --how eager,graph
    python3 networks_gpu.py --what cyto-train --batches 8 --amp bf16 --how eager,graph,compile
"""

import argparse
import contextlib
import json
import math
import statistics
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

parser = argparse.ArgumentParser()
parser.add_argument("--what", choices=["ptycho", "cyto-train", "cyto-predict"], default="ptycho")
parser.add_argument("--batches", default="32")
parser.add_argument("--patch", default="16,32,32", help="of CytoDL's network: three sides of volumes, or two of planes")
parser.add_argument("--amp", choices=["fp32", "tf32", "bf16"], default="fp32")
parser.add_argument("--how", default="eager,graph")
parser.add_argument("--rounds", type=int, default=5)
parser.add_argument("--seconds", type=float, default=0.5, help="of a round")
parser.add_argument("--device", default="cuda", help="cpu for a trial of the program without a card")
A = parser.parse_args()
torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = A.amp == "tf32"
torch.backends.cudnn.benchmark = True
torch.manual_seed(1)


class Pair(nn.Module):
    """Two convolutions of 3x3, each followed by a ReLU."""

    def __init__(self, i, o):
        super().__init__()
        self.a, self.b = nn.Conv2d(i, o, 3, padding=1), nn.Conv2d(o, o, 3, padding=1)

    def forward(self, x):
        return F.relu(self.b(F.relu(self.a(x))))


class Head(nn.Module):
    """The decoder of an amplitude or a phase, 64x64, whose border four channels of its own draw."""

    def __init__(self, scale, phase):
        super().__init__()
        self.stages = nn.ModuleList([Pair(128 * scale, 64 * scale), Pair(64 * scale, 32 * scale)])
        self.inner, self.phase, outer = nn.Conv2d(32 * scale - 4, 1, 3, padding=1), phase, 32 * scale
        self.outer = nn.ModuleList([nn.Conv2d(4, outer, 3, padding=1), nn.Conv2d(outer, outer, 3, padding=1), nn.Conv2d(outer, 1, 3, padding=1)])
        border = torch.ones(64, 64)
        border[16:-16, 16:-16] = 0
        self.register_buffer("border", border)

    def forward(self, x):
        for stage in self.stages:
            x = F.interpolate(stage(x), scale_factor=2.0, mode="nearest")
        inner = self.inner(x[:, :-4])
        inner = F.pad(math.pi * torch.tanh(inner) if self.phase else torch.sigmoid(inner), (16, 16, 16, 16))
        y = F.relu(self.outer[1](F.relu(self.outer[0](x[:, -4:]))))
        return inner + F.silu(self.outer[2](F.interpolate(y, scale_factor=2.0, mode="nearest"))) * self.border


class Ptycho(nn.Module):
    """PtychoPINN's network of 64x64 patterns, filters_scale 2, gridsize 1."""

    def __init__(self, scale=2):
        super().__init__()
        self.encoder = nn.ModuleList([Pair(1, 32 * scale), Pair(32 * scale, 64 * scale), Pair(64 * scale, 128 * scale)])
        self.heads = nn.ModuleList([Head(scale, False), Head(scale, True)])

    def forward(self, x):
        for stage in self.encoder:
            x = F.max_pool2d(stage(x), 2)
        return [head(x) for head in self.heads]


class Residual(nn.Module):
    def __init__(self, conv, norm, i, o, stride):
        super().__init__()
        self.conv1, self.norm1 = conv(i, o, 3, stride, 1, bias=False), norm(o, affine=True)
        self.conv2, self.norm2 = conv(o, o, 3, 1, 1, bias=False), norm(o, affine=True)
        self.conv3, self.norm3 = conv(i, o, 1, stride, 0, bias=False), norm(o, affine=True)

    def forward(self, x):
        y = self.norm2(self.conv2(F.leaky_relu(self.norm1(self.conv1(x)), 0.01)))
        return F.leaky_relu(y + self.norm3(self.conv3(x)), 0.01)


class Up(nn.Module):
    def __init__(self, conv, transposed, norm, i, o):
        super().__init__()
        self.up = transposed(i, o, 2, 2, bias=False)
        self.conv1, self.norm1 = conv(2 * o, o, 3, 1, 1, bias=False), norm(o, affine=True)
        self.conv2, self.norm2 = conv(o, o, 3, 1, 1, bias=False), norm(o, affine=True)

    def forward(self, x, skip):
        x = F.leaky_relu(self.norm1(self.conv1(torch.cat([self.up(x), skip], 1))), 0.01)
        return F.leaky_relu(self.norm2(self.conv2(x)), 0.01)


class DynUNet(nn.Module):
    """CytoDL's default network: logits from volumes or planes, 16, 32 and 64 filters."""

    def __init__(self, dimensions):
        super().__init__()
        conv, transposed, norm = (
            (nn.Conv3d, nn.ConvTranspose3d, nn.InstanceNorm3d) if dimensions == 3 else (nn.Conv2d, nn.ConvTranspose2d, nn.InstanceNorm2d)
        )
        self.first, self.down, self.bottom = (Residual(conv, norm, i, o, s) for i, o, s in ((1, 16, 1), (16, 32, 2), (32, 64, 2)))
        self.up0, self.up1, self.out = Up(conv, transposed, norm, 64, 32), Up(conv, transposed, norm, 32, 16), conv(16, 1, 1)

    def forward(self, x):
        a = self.first(x)
        b = self.down(a)
        return self.out(self.up1(self.up0(self.bottom(b), b), a))


def dice_and_cross_entropy(z, t):
    p, sides = torch.sigmoid(z), list(range(2, z.dim()))
    dice = 1 - (2 * (p * t).sum(sides) + 1e-5) / (p.sum(sides) + t.sum(sides) + 1e-5)
    return dice.mean() + F.binary_cross_entropy_with_logits(z, t)


def step_of(batch):
    """Returns a function that computes one batch, whose input is on the device."""
    mixed = (lambda: torch.autocast(A.device, torch.bfloat16)) if A.amp == "bf16" else contextlib.nullcontext
    if A.what == "ptycho":
        net, x = Ptycho().to(A.device).eval(), torch.rand(batch, 1, 64, 64, device=A.device)
    else:
        sides = tuple(map(int, A.patch.split(",")))
        net, x = DynUNet(len(sides)).to(A.device), torch.rand(batch, 1, *sides, device=A.device)
    if A.what != "cyto-train":

        @torch.no_grad()
        def predict():
            with mixed():
                return net(x)

        return predict
    target = (torch.rand_like(x) > 0.7).float()
    optimizer = torch.optim.Adam(net.parameters(), 1e-4, weight_decay=1e-4, fused=True, capturable=A.device == "cuda")

    def train():
        optimizer.zero_grad(set_to_none=True)
        with mixed():
            z = net(x)
        loss = dice_and_cross_entropy(z.float(), target)
        loss.backward()
        optimizer.step()
        return loss

    return train


def wait():
    if A.device == "cuda":
        torch.cuda.synchronize()


def captured(step):
    """The step as a CUDA graph, after some that make its arrays."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(4):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def measure(how, batch):
    step = step_of(batch)
    if how == "graph":
        step = captured(step)
    elif how == "compile":
        torch._dynamo.reset()
        step = torch.compile(step)
    for _ in range(5):
        step()
    wait()
    began = time.perf_counter()
    step()
    wait()
    n = max(3, int(A.seconds / (time.perf_counter() - began)))
    times = []
    for _ in range(A.rounds):
        began = time.perf_counter()
        for _ in range(n):
            step()
        wait()
        times.append((time.perf_counter() - began) / n * 1e3)
    median = statistics.median(times)
    return {"ms": round(median, 4), "min": round(min(times), 4), "max": round(max(times), 4), "per_s": round(batch / median * 1e3, 1)}


for batch in map(int, A.batches.split(",")):
    for how in A.how.split(","):
        row = {"what": A.what, "batch": batch, "amp": A.amp, "how": how}
        try:
            row |= measure(how, batch)
        except Exception as e:  # a way that this PyTorch refuses is named, and the others go on
            row["error"] = f"{type(e).__name__}: {e}"[:200]
        print(json.dumps(row), flush=True)
