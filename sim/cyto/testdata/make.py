"""Writes what TestMONAIsNetwork reads: python make.py FOLDER, with PyTorch and MONAI."""

import sys

import numpy
import torch
from monai.networks.nets import DynUNet

folder = sys.argv[1]
torch.manual_seed(5)
for axes, filters in (3, [2, 3, 4]), (2, [2, 3, 4, 5]):
    levels = len(filters)
    m = DynUNet(axes, 1, 1, [3] * levels, [1] + [2] * (levels - 1), [2] * (levels - 1), filters=filters, res_block=True)
    with torch.no_grad():
        for p in m.parameters():  # norms and biases too
            p.add_(0.2 * torch.randn_like(p))
        image = torch.randn(1, 1, *[8 if axes == 3 else 16] * axes)
        output = m(image)
    state = {"backbone." + k: v for k, v in m.state_dict().items()}  # as CytoDL's models have it
    torch.save({"epoch": 3, "global_step": 12, "state_dict": state, "hyper_parameters": {"x_key": "raw", "save_dir": "./"}}, f"{folder}/monai-{axes}d.ckpt")
    numpy.savez(f"{folder}/monai-{axes}d.npz", image=image.numpy(), output=output.numpy())
