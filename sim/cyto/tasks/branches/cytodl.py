"""Run one benchmark task with the cyto-dl of the current folder, and write its result.

The only argument is a file with the task as JSON; its entry "output" names the file for the
result. Sections are timed with the device idle at both ends; the memory peak of a section is
that of everything inside it; sections that fail are kept and marked as partial.
"""

import importlib.util
import json
import os
import sys
import time
import traceback
from contextlib import contextmanager

REQUIRED = ("torch", "lightning", "hydra", "omegaconf", "cyto_dl")
MEGABYTE = 2**20


class Missing(Exception):
    """A requirement that this Python does not meet."""


def check_requirements(folder):
    sys.path.insert(0, folder)
    missing = [name for name in REQUIRED if importlib.util.find_spec(name) is None]
    if missing:
        raise Missing(
            f"{sys.executable} has no {', '.join(missing)}: activate the environment of cyto-dl "
            "(pip install -e . in its repository)"
        )
    found = importlib.util.find_spec("cyto_dl").origin
    if found is None or not os.path.realpath(found).startswith(os.path.realpath(folder) + os.sep):
        raise Missing(f"cyto_dl is imported from {found}, not from the branch in {folder}")
    configs = os.path.join(folder, "configs")
    if not os.path.isdir(configs):
        raise Missing(f"{folder} has no folder configs: must be a checkout of cyto-dl")
    return configs


class Clock:
    """Times sections that may lie inside each other."""

    def __init__(self, torch, cuda):
        self.torch, self.cuda, self.open = torch, cuda, []

    def wait(self):
        if self.cuda:
            self.torch.cuda.synchronize()

    def sample(self):
        """Give every open section the peak since the last sample, and begin a new peak."""
        if not self.cuda:
            return 0
        peak = self.torch.cuda.max_memory_allocated()
        for section in self.open:
            section["peak"] = max(section["peak"], peak)
        self.torch.cuda.reset_peak_memory_stats()
        return self.torch.cuda.memory_allocated()

    def begin(self):
        self.wait()
        used = self.sample()
        section = {"used": used, "peak": used}
        self.open.append(section)
        section["began"] = time.perf_counter()
        return section

    def end(self, section, partial=False):
        self.wait()
        elapsed = time.perf_counter() - section["began"]
        used = self.sample()
        del self.open[self.open.index(section) :]
        timer = {
            "elapsed_seconds": elapsed,
            "memory_delta_mb": None,
            "peak_memory_mb": None,
            "host_memory_delta_mb": None,
            "host_peak_memory_mb": None,
            "host_memory_reason": "it is not read in Python",
            "completion_awaited": True,
        }
        if self.cuda:
            timer["memory_delta_mb"] = (used - section["used"]) / MEGABYTE
            timer["peak_memory_mb"] = section["peak"] / MEGABYTE
        else:
            timer["memory_reason"] = "no CUDA device computes this task"
        if partial:
            timer["partial"] = True
        return timer

    @contextmanager
    def section(self, into, name):
        section = self.begin()
        try:
            yield
        except BaseException:
            into[name] = self.end(section, partial=True)
            raise
        into[name] = self.end(section)


def quoted(text):
    """A value in Hydra's grammar, in which "=" and "," mean something."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def experiment_of(name, configs):
    """The experiment that a branch has: the documents write label_free, and others no group."""
    right = name.replace("label_free", "labelfree")
    for known in (name, right, "im2im/" + right):
        if os.path.exists(os.path.join(configs, "experiment", known + ".yaml")):
            return known
    raise Missing(f"the branch has no experiment {name}: there is no file configs/experiment/{name}.yaml")


def overrides_of(task, configs):
    """Hydra's overrides of a task: those of the columns first, those of the row last."""
    new = [
        f"experiment={experiment_of(task['experiment'], configs)}",
        f"trainer={task['trainer']}",
        f"data.batch_size={task['batch_size']}",
        f"++paths.output_dir={quoted(task['folder'])}",
        f"++paths.work_dir={quoted(task['folder'])}",
        f"++trainer.default_root_dir={quoted(task['folder'])}",
        "++trainer.enable_checkpointing=false",
        "++extras.enforce_tags=false",
        "++extras.print_config=false",
    ]
    limits = ("train", "val") if task["kind"] == "training" else ("predict",)
    for name in limits:
        limit = task[f"limit_{name}_batches"]
        new.append(f"++trainer.limit_{name}_batches={limit if limit else 1.0}")
    if task["kind"] == "training":
        new.append(f"trainer.max_epochs={task['max_epochs']}")
    if task["data_path"]:
        new.append(f"data.path={quoted(task['data_path'])}")
    if task["checkpoint_path"]:
        new.append(f"++checkpoint.ckpt_path={quoted(task['checkpoint_path'])}")
    return new + [renamed(o) for o in task["overrides"]]


def renamed(override):
    """The group that the documents call datamodule is data."""
    bare = override.lstrip("+~")
    mark = override[: len(override) - len(bare)]
    if bare.startswith("datamodule."):
        return mark + "data." + bare[len("datamodule.") :]
    if bare.startswith("trainer.limit_") and not mark:
        return "++" + bare
    return override


def compose(task, configs):
    from contextlib import suppress

    from hydra import compose as hydra_compose
    from hydra import initialize_config_dir
    from hydra.core.global_hydra import GlobalHydra
    from omegaconf import OmegaConf, open_dict

    from cyto_dl import utils

    os.environ["PROJECT_ROOT"] = os.getcwd()
    with suppress(ValueError):
        OmegaConf.register_new_resolver("kv_to_dict", utils.kv_to_dict)
    with suppress(ValueError):
        OmegaConf.register_new_resolver("eval", eval)
    GlobalHydra.instance().clear()
    name = "train.yaml" if task["kind"] == "training" else "eval.yaml"
    with initialize_config_dir(version_base="1.3", config_dir=configs):
        cfg = hydra_compose(config_name=name, overrides=overrides_of(task, configs), return_hydra_config=True)
    with open_dict(cfg):
        del cfg["hydra"]
    OmegaConf.resolve(cfg)
    utils.remove_aux_key(cfg)
    return cfg


def data_of(cfg):
    import hydra

    from cyto_dl import utils

    make = getattr(utils, "create_dataloader", None)
    return make(cfg.data) if make else hydra.utils.instantiate(cfg.data)


def samples_of(batch):
    """The number of images of a batch: the length of the first tensor in it."""
    values = batch.values() if isinstance(batch, dict) else batch if isinstance(batch, (list, tuple)) else [batch]
    for value in values:
        shape = getattr(value, "shape", None)
        if shape is not None and len(shape) > 0:
            return int(shape[0])
    return 0


def length_of(loader):
    try:
        return int(len(loader))
    except TypeError:
        return 0


def setup(task, configs, clock, metrics, hooks):
    """Build everything, timed; return model, data and trainer."""
    import hydra
    import lightning

    with clock.section(metrics, "model_initialization"):
        with clock.section(metrics, "config_loading"):
            cfg = compose(task, configs)
        if cfg.get("seed"):
            lightning.seed_everything(cfg.seed, workers=True)
        with clock.section(metrics, "data_setup"):
            data = data_of(cfg)
        with clock.section(metrics, "model_setup"):
            model = hydra.utils.instantiate(cfg.model, _recursive_=False)
        if task["kind"] == "inference" and task["checkpoint_path"]:
            with clock.section(metrics, "checkpoint_loading"):
                load_weights(model, task["checkpoint_path"])
        with clock.section(metrics, "trainer_setup"):
            trainer = hydra.utils.instantiate(cfg.trainer, callbacks=[hooks], logger=False)
    return model, data, trainer


def load_weights(model, path):
    import torch

    try:
        saved = torch.load(path, map_location="cpu", weights_only=False)
    except TypeError:  # of an older PyTorch
        saved = torch.load(path, map_location="cpu")
    model.load_state_dict(saved["state_dict"], strict=True)


def training_hooks(clock, metrics, counts):
    import lightning

    breakdown = metrics.setdefault("epoch_breakdown", {})

    class Hooks(lightning.Callback):
        """Times the first epoch and its first batch inside the real training."""

        def on_train_epoch_start(self, trainer, module):
            if trainer.current_epoch == 0:
                self.epoch = clock.begin()
                self.batch = clock.begin()
                self.loading = clock.begin()
                self.forward = None

        def on_train_batch_start(self, trainer, module, batch, batch_idx):
            if trainer.current_epoch == 0 and batch_idx == 0:
                breakdown["data_loading_first_batch"] = clock.end(self.loading)
                self.forward = clock.begin()

        def on_before_backward(self, trainer, module, loss):
            if getattr(self, "forward", None) is not None:
                breakdown["model_forward_first_batch"] = clock.end(self.forward)
                breakdown["first_batch"] = clock.end(self.batch)
                self.forward = None

        def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
            counts["batches"] += 1
            counts["samples"] += samples_of(batch)

        def on_train_epoch_end(self, trainer, module):
            if trainer.current_epoch == 0:
                breakdown["first_epoch"] = clock.end(self.epoch)

    return Hooks()


def train(task, configs, clock, metrics):
    from lightning import LightningDataModule

    counts = {"batches": 0, "samples": 0}
    with clock.section(metrics, "total_training"):
        model, data, trainer = setup(task, configs, clock, metrics, training_hooks(clock, metrics, counts))
        try:
            with clock.section(metrics, "full_training"):
                if isinstance(data, LightningDataModule):
                    trainer.fit(model=model, datamodule=data)
                else:
                    trainer.fit(model=model, train_dataloaders=data["train_dataloaders"], val_dataloaders=data.get("val_dataloaders"))
        finally:
            metrics["samples"] = {"processed": counts["samples"], "batches": counts["batches"]}
            metrics["final_metrics"] = {name: number(value) for name, value in trainer.callback_metrics.items()}
    metrics["dataset_info"] = {
        "num_train_batches": int(number(trainer.num_training_batches) or 0),  # infinite without a length
        "batch_size": task["batch_size"],
        "available_train_batches": length_of(trainer.train_dataloader),
        "limit_train_batches": task["limit_train_batches"],
        "limit_val_batches": task["limit_val_batches"],
    }
    seconds = metrics["full_training"]["elapsed_seconds"]
    metrics["throughput_samples_per_sec"] = counts["samples"] / seconds if counts["samples"] else None


def number(value):
    value = float(value)
    return value if value - value == 0 else None


def prediction_hooks(clock, metrics, counts):
    import lightning

    breakdown = metrics.setdefault("batch_breakdown", {})

    class Hooks(lightning.Callback):
        """Times the first batch inside the real prediction."""

        def setup(self, trainer, pl_module, stage):
            self.first, self.post = True, 0.0
            transfer = pl_module.transfer_batch_to_device

            def timed_transfer(*arguments, **named):
                if not self.first:
                    return transfer(*arguments, **named)
                breakdown["first_batch_loading"] = clock.end(self.loading)
                with clock.section(breakdown, "first_batch_to_device"):
                    return transfer(*arguments, **named)

            pl_module.transfer_batch_to_device = timed_transfer
            for head in getattr(pl_module, "task_heads", {}).values():
                self.watch(head)

        def watch(self, head):
            run = head.run_head

            def timed_run(*arguments, **named):
                if not self.first:
                    return run(*arguments, **named)
                if self.forward is not None:
                    breakdown["first_batch_forward"] = clock.end(self.forward)
                    self.forward = None
                section = clock.begin()
                try:
                    return run(*arguments, **named)
                finally:
                    timer = clock.end(section)
                    self.post += timer["elapsed_seconds"]
                    breakdown["first_batch_postprocess"] = {**timer, "elapsed_seconds": self.post}

            head.run_head = timed_run

        def on_predict_epoch_start(self, trainer, module):
            self.whole = clock.begin()
            self.loading = clock.begin()
            self.forward = None

        def on_predict_batch_start(self, trainer, module, batch, batch_idx, dataloader_idx=0):
            if self.first:
                self.forward = clock.begin()

        def on_predict_batch_end(self, trainer, module, outputs, batch, batch_idx, dataloader_idx=0):
            counts["batches"] += 1
            counts["samples"] += samples_of(batch)
            if self.first:
                if self.forward is not None:
                    breakdown["first_batch_forward"] = clock.end(self.forward)
                breakdown["first_batch_processing"] = clock.end(self.whole)
                self.first = False

    return Hooks()


def predict(task, configs, clock, metrics):
    from lightning import LightningDataModule

    if task["checkpoint_path"] and not os.path.exists(task["checkpoint_path"]):
        raise Missing(f"Checkpoint not found: {task['checkpoint_path']} (column checkpoint_path)")
    counts = {"batches": 0, "samples": 0}
    with clock.section(metrics, "total_inference"):
        model, data, trainer = setup(task, configs, clock, metrics, prediction_hooks(clock, metrics, counts))
        with clock.section(metrics, "full_prediction"):
            if isinstance(data, LightningDataModule):
                outputs = trainer.predict(model=model, datamodule=data)
            else:
                outputs = trainer.predict(model=model, dataloaders=data)
    seconds = metrics["full_prediction"]["elapsed_seconds"]
    loaders = trainer.predict_dataloaders
    metrics["inference_info"] = {
        "num_batches": counts["batches"],
        "batch_size": task["batch_size"],
        "num_outputs": len(outputs or []),
        "avg_time_per_batch": seconds / counts["batches"] if counts["batches"] else None,
        "throughput_samples_per_sec": counts["samples"] / seconds if counts["samples"] else None,
        "samples_processed": counts["samples"],
        "available_batches": sum(map(length_of, loaders)) if isinstance(loaders, (list, tuple)) else length_of(loaders),
        "limit_predict_batches": task["limit_predict_batches"],
    }


def run(task, metrics):
    configs = check_requirements(os.getcwd())
    import torch

    if task["trainer"].startswith("ddp"):
        raise Missing(f"the trainer {task['trainer']} runs in several processes, which are not timed here: use gpu or cpu, or a command of your own")
    cuda = task["trainer"] == "gpu"
    if cuda and not torch.cuda.is_available():
        raise Missing(f"the trainer {task['trainer']} needs a CUDA device, and PyTorch finds none: use cpu")
    clock = Clock(torch, cuda)
    work = train if task["kind"] == "training" else predict
    work(task, configs, clock, metrics)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        task = json.load(file)
    result = {"branch": task["branch"], "experiment": task["experiment"], "kind": task["kind"], "success": True, "error": None, "metrics": {}}
    status = 0
    try:
        run(task, result["metrics"])
    except Missing as problem:
        result.update(success=False, error=str(problem))
        status = 3
    except BaseException as problem:
        traceback.print_exc()
        result.update(success=False, error=f"{type(problem).__name__}: {problem}")
        status = 1
    with open(task["output"], "w", encoding="utf-8") as file:
        json.dump(result, file, indent=2, allow_nan=False)
    return status


if __name__ == "__main__":
    sys.exit(main())
