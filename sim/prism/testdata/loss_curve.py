#!/usr/bin/env python3
"""Trains PRISM's decoder in PyTorch on given weights, masks and targets.

    loss_curve.py INPUT.npz OUTPUT.npz [--iterations N] [--threads N]

INPUT has the decoder's parameters by their names (latent, conv0.weight,
bn0.weight, ...), mask_old and mask_new [N, N], target_old and target_new
[1, 1, N, N], side (the object's window in pixels) and learning_rate, each flat
with its shape beside it (latent.shape, ...). One iteration is decoder, telescope through both masks, normalised L1 against both
targets, backward, Adam. OUTPUT gets loss [iterations], each taken before its
update, and version, PyTorch's.

The Go test sim/prism TestLossCurveFollowsPyTorch runs this beside the same
training in prismtop.
"""

import argparse
import sys

try:
    import numpy as np
    import torch
    import torch.nn.functional as F
except ImportError as missing:
    print(f"loss_curve.py: {missing}", file=sys.stderr)
    sys.exit(3)  # the caller skips


class Decoder(torch.nn.Module):
    """A latent vector, transposed convolutions with 4x4 kernels that grow it,
    convolutions with 3x3 kernels that refine it; the last of those trims a pixel
    on each side. Every layer but a last one of a single channel is normalised."""

    def __init__(self, arrays, side, size):
        super().__init__()
        self.side, self.size = side, size
        self.latent = self.parameter(arrays["latent"])
        self.weights, self.biases = torch.nn.ParameterList(), torch.nn.ParameterDict()
        self.norms = torch.nn.ModuleDict()
        while f"conv{len(self.weights)}.weight" in arrays:
            i = len(self.weights)
            self.weights.append(self.parameter(arrays[f"conv{i}.weight"]))
            if f"conv{i}.bias" in arrays:
                self.biases[str(i)] = self.parameter(arrays[f"conv{i}.bias"])
            if f"bn{i}.weight" in arrays:
                gamma = torch.from_numpy(arrays[f"bn{i}.weight"])
                norm = torch.nn.BatchNorm2d(len(gamma))
                with torch.no_grad():
                    norm.weight.copy_(gamma)
                    norm.bias.copy_(torch.from_numpy(arrays[f"bn{i}.bias"]))
                self.norms[str(i)] = norm

    @staticmethod
    def parameter(values):
        return torch.nn.Parameter(torch.from_numpy(values.copy()))

    def forward(self):
        x, last = self.latent, len(self.weights) - 1
        for i, w in enumerate(self.weights):
            key = str(i)
            bias = self.biases[key] if key in self.biases else None
            growing = w.shape[-1] == 4
            if growing:
                x = F.conv_transpose2d(x, w, bias, stride=2 if i else 1, padding=1 if i else 0)
            else:
                x = F.conv2d(x, w, bias, padding=0 if i == last else 1)
            if key in self.norms:
                x = self.norms[key](x)
            if growing or key in self.norms:
                x = F.relu(x)
        x = torch.sigmoid(x)
        return fit(fit(x, self.side), self.size)


def fit(x, target):
    """Zeros around, the smaller half before, or PRISM's window, one pixel late."""
    side = x.shape[-1]
    if target >= side:
        before = (target - side) // 2
        after = target - side - before
        return F.pad(x, (before, after, before, after))
    first = (side - target) // 2 + 1
    return x[..., first:first + target, first:first + target]


def transform(z):
    """The centred orthonormal transform."""
    z = torch.fft.ifftshift(z, dim=(-2, -1))
    return torch.fft.fftshift(torch.fft.fft2(z, norm="ortho"), dim=(-2, -1))


def measure(spectrum, mask):
    return torch.flip(torch.abs(transform(spectrum * mask)), dims=(-2, -1))


def loss_of(prediction, target):
    return F.l1_loss(prediction, target) / (target.abs().mean() + 1e-8)


def main():
    p = argparse.ArgumentParser(description="loss curve of PRISM's decoder in PyTorch")
    p.add_argument("input")
    p.add_argument("output")
    p.add_argument("--iterations", type=int, default=2000)
    p.add_argument("--threads", type=int, default=1)
    a = p.parse_args()

    torch.set_num_threads(a.threads)
    with np.load(a.input) as file:
        arrays = {name: file[name].reshape(file[name + ".shape"])
                  for name in file.files if not name.endswith(".shape")}
    planes = {k: torch.from_numpy(arrays[k]) for k in ("mask_old", "mask_new", "target_old", "target_new")}
    net = Decoder(arrays, int(arrays["side"][0]), planes["mask_old"].shape[-1])
    net.train()
    adam = torch.optim.Adam(net.parameters(), lr=float(arrays["learning_rate"][0]))
    losses = np.empty(a.iterations)
    for i in range(a.iterations):
        adam.zero_grad()
        spectrum = transform(net())
        loss = (loss_of(measure(spectrum, planes["mask_old"]), planes["target_old"])
                + loss_of(measure(spectrum, planes["mask_new"]), planes["target_new"]))
        loss.backward()
        adam.step()
        losses[i] = loss.item()
    np.savez(a.output, loss=losses, version=np.frombuffer(torch.__version__.encode(), dtype=np.uint8))


if __name__ == "__main__":
    main()
