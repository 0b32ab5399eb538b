import os
from contextlib import contextmanager

from omegaconf import Config

from . import utils

EXPERIMENTS = ("im2im/segmentation", "im2im/labelfree")
# The keys that a configuration has: others need ++.
KEYS = {"data.batch_size", "data.path", "data._aux.patch_shape", "trainer.max_epochs", "seed"}


@contextmanager
def initialize_config_dir(version_base, config_dir):
    assert os.path.isabs(config_dir) and os.path.isdir(config_dir)
    yield


def compose(config_name, overrides, return_hydra_config):
    assert return_hydra_config
    cfg = Config(
        hydra={},
        name=config_name,
        seed=12345,
        data=Config(_aux=Config(patch_shape=[16, 32, 32]), batch_size=1),
        model=Config(_target_="model"),
        trainer=Config(max_epochs=100),
    )
    for override in overrides:
        key, value = override.split("=", 1)
        if value.startswith("'"):
            value = value[1:-1].replace("\\'", "'").replace("\\\\", "\\")
        elif "=" in value:
            raise ValueError(f"no viable alternative at input '{value}'")
        if key == "experiment":
            if value not in EXPERIMENTS:
                raise ValueError(f"In '{config_name}': Could not find 'experiment/{value}'")
            cfg["experiment"] = value
            continue
        if key == "trainer":
            cfg["accelerator"] = value
            continue
        if not key.startswith("++") and key not in KEYS:
            raise ValueError(f"Could not override '{key}'. Key is not in struct")
        parts = key.lstrip("+").split(".")
        target = cfg
        for part in parts[:-1]:
            target = target.setdefault(part, Config())
        target[parts[-1]] = int(value) if value.isdigit() else value
    return cfg
