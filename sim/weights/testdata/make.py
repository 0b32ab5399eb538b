"""Writes the files of torch.save that the tests of weights read: python make.py FOLDER, with the PyTorch whose file is wanted."""

import collections
import os
import sys

import torch


def state():
    weight = torch.arange(12, dtype=torch.float32).reshape(3, 4) / 8 - 0.5
    all = collections.OrderedDict()
    all["weight"] = weight
    all["turned"] = weight.t()  # the same storage by columns
    all["part"] = weight[1:, ::2]
    all["half"] = weight.half()
    all["bfloat"] = weight.bfloat16()
    all["double"] = weight.double()
    all["number"] = torch.tensor(0.25)
    all["norm.num_batches_tracked"] = torch.tensor(7)
    all["parameter"] = torch.nn.Parameter(weight[0].clone())
    all._metadata = {"": {"version": 1}}
    return all


def layers(prefix=""):
    m = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    with torch.no_grad():
        for i, p in enumerate(m.parameters()):
            p.copy_(torch.arange(p.numel()).reshape(p.shape) + i)
    return collections.OrderedDict((prefix + k, v) for k, v in m.state_dict().items())


class Evil:
    def __reduce__(self):
        return os.system, ("touch /tmp/was-run",)


folder, version = sys.argv[1], torch.__version__.split("+")[0].rsplit(".", 1)[0]
torch.save(state(), f"{folder}/torch-{version}.pt")
if version == "1.13":
    torch.save(state(), f"{folder}/legacy.pt", _use_new_zipfile_serialization=False)
    torch.save(torch.nn.Linear(2, 2), f"{folder}/module.pt")
    torch.save({"weight": torch.ones(1), "run": Evil()}, f"{folder}/evil.pt")
    torch.jit.script(torch.nn.Linear(2, 2)).save(f"{folder}/script.pt")
    torch.save(layers("module."), f"{folder}/parallel.pth")
    torch.save([torch.ones(1)], f"{folder}/list.pt")
else:
    try:
        import lightning
    except ImportError:
        sys.exit()
    import torch.utils.data

    class Learner(lightning.LightningModule):
        def __init__(self, rate=0.1):
            super().__init__()
            self.save_hyperparameters()
            self.model = torch.compile(torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2)))
            self.model._orig_mod.load_state_dict(layers())

        def training_step(self, batch, i):
            return (self.model._orig_mod(batch) ** 2).mean()

        def configure_optimizers(self):
            o = torch.optim.Adam(self.parameters(), lr=0.0)  # which leaves the weights as they are
            return {"optimizer": o, "lr_scheduler": torch.optim.lr_scheduler.ExponentialLR(o, 0.9)}

    trainer = lightning.Trainer(max_epochs=1, accelerator="cpu", logger=False, enable_progress_bar=False, enable_model_summary=False, default_root_dir=folder)
    trainer.fit(Learner(), torch.utils.data.DataLoader(torch.ones(4, 3), batch_size=2))
    trainer.save_checkpoint(f"{folder}/lightning.ckpt")
