from lightning import LightningDataModule
from torch import Tensor


def kv_to_dict(kv):
    return dict(kv)


def remove_aux_key(cfg):
    assert cfg["resolved"]
    for section in list(cfg.values()):
        if isinstance(section, dict):
            section.pop("_aux", None)


class Data(LightningDataModule):
    def __init__(self, *, batch_size, path=None):
        # Three batches, the last of which has one image.
        self.loader = [{"raw": Tensor(n, 1, 16, 32, 32)} for n in (batch_size, batch_size, 1)]


def create_dataloader(cfg):
    return Data(**cfg)
