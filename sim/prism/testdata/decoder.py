"""The decoder of PRISM in PyTorch (spec/prism.md 1.2), to exchange weights with.

    decoder.py '[{"draw": false, "weights": "w.npz", "outputs": "out.npz", "decoder": {…}}, …]'

Each job loads the weights, or draws and writes them, an .npz or a .safetensors file, and writes
what the decoder puts out: "eval", with the running statistics, and "train", with the batch's. A "folded"
decoder has an identity in place of each normalisation, and a bias in every convolution.
"""
import json
import struct
import sys

import numpy
import torch
from torch import nn


class ConditionalBatchNorm(nn.Module):
    def __init__(self, channels, used):
        super().__init__()
        self.main = nn.BatchNorm2d(channels) if used else nn.Identity()

    def forward(self, x):
        return self.main(x)


class CropPad(nn.Module):
    def __init__(self, side):
        super().__init__()
        self.side = side

    def forward(self, x):
        h = x.shape[-1]
        if self.side >= h:
            before = (self.side - h) // 2
            return nn.functional.pad(x, (before, self.side - h - before) * 2)
        start = int((h - self.side) / 2) + 1
        return x[..., start:start + self.side, start:start + self.side]


class Decoder(nn.Module):
    def __init__(self, size, object_size, channels, batch_norm, sigmoid, folded=False):
        super().__init__()
        self.input_vec = nn.Parameter(torch.randn(1, size, 1, 1))
        ups, side = 0, 4
        while side < object_size:
            ups, side = ups + 1, 2 * side
        modules, before = [], size
        for i, n in enumerate(channels):
            last = i == len(channels) - 1
            if i <= ups:
                stride, pad = (1, 0) if i == 0 else (2, 1)
                modules += [nn.ConvTranspose2d(before, n, 4, stride, pad, bias=folded or not batch_norm),
                            ConditionalBatchNorm(n, batch_norm and not folded), nn.ReLU()]
            else:
                normal = batch_norm and n > 1
                modules.append(nn.Conv2d(before, n, 3, 1, 0 if last else 1, bias=folded or not normal))
                if normal:
                    modules += [ConditionalBatchNorm(n, not folded), nn.ReLU()]
            before = n
        modules += [nn.Sigmoid() if sigmoid else nn.Identity(), CropPad(object_size), CropPad(size)]
        self.decoder = nn.Sequential(*modules)

    def forward(self):
        return self.decoder(self.input_vec)


def read(path):
    if path.endswith(".npz"):
        return {k: torch.from_numpy(v) for k, v in numpy.load(path).items()}
    data = open(path, "rb").read()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        assert entry["dtype"] == "F32"
        flat = numpy.frombuffer(data[8 + length + begin:8 + length + end], "<f4")
        tensors[name] = torch.from_numpy(flat.reshape(entry["shape"]).copy())
    return tensors


def write(path, tensors):
    arrays = {k: v.numpy() for k, v in tensors.items()}
    if path.endswith(".npz"):
        numpy.savez_compressed(path, **arrays)
        return
    header, blobs, at = {}, [], 0
    for name in sorted(arrays):
        a = arrays[name]
        blobs.append(a.tobytes())
        header[name] = {"dtype": {"float32": "F32", "int64": "I64"}[str(a.dtype)], "shape": list(a.shape), "data_offsets": [at, at + a.nbytes]}
        at += a.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    open(path, "wb").write(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def run(job):
    torch.manual_seed(1)
    model = Decoder(**job["decoder"])
    with torch.no_grad():
        if job["draw"]:
            for _ in range(3):
                model()  # so that the running statistics are no longer the first
            for p in model.parameters():
                p += 0.01 * torch.randn_like(p)
            write(job["weights"], model.state_dict())
        else:
            model.load_state_dict(read(job["weights"]), strict=True)
        evaluated = model.eval()()
        trained = model.train()()
    numpy.savez(job["outputs"], eval=evaluated.numpy(), train=trained.numpy())


for job in json.loads(sys.argv[1]):
    run(job)
