"""Callbacks for trainers of others: epochs and their number, names of metrics, evaluations, accumulation.

    Trainer(callbacks=[prismtop.lightning()])           Lightning
    Trainer(..., callbacks=[prismtop.transformers()])   Transformers
    Accelerator(log_with=prismtop.accelerate())         Accelerate: metrics; its epochs are those of the DataLoader
    model.fit(..., callbacks=[prismtop.keras()])        Keras 3 on PyTorch: its steps, too, because its optimizers are not PyTorch's

Phases, losses and knobs come from the patches. A framework is imported only when its callback is asked for.
"""
import math
import sys

import prismtop


def log(metrics, *without):
    """Logs those of a framework's metrics that are one number, but for some."""
    if prismtop.LOOP.ring is not None:
        prismtop.log(**{str(name): value for name, value in metrics.items() if name not in without and
                        (isinstance(value, (int, float)) or getattr(value, "shape", None) == () and hasattr(value, "item"))})


class Evaluating:
    """An evaluation that begins and ends in different calls."""

    def __init__(self):
        self.under_way = False

    def begin(self):
        if not self.under_way:
            self.under_way = True
            prismtop.evaluation().__enter__()

    def end(self):
        if self.under_way:
            self.under_way = False
            prismtop.evaluation().__exit__()


def lightning():
    """A callback for Lightning's Trainer."""
    if "pytorch_lightning" in sys.modules and "lightning.pytorch" not in sys.modules:
        from pytorch_lightning.callbacks import Callback
    else:
        from lightning.pytorch.callbacks import Callback
    evaluating = Evaluating()

    class Prismtop(Callback):
        def on_train_start(self, trainer, module):
            prismtop.accumulates()

        def on_train_epoch_start(self, trainer, module):
            prismtop.epoch(trainer.current_epoch, trainer.max_epochs)

        def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
            if trainer.log_every_n_steps and (batch_idx + 1) % trainer.log_every_n_steps == 0:
                log(trainer.logged_metrics)

        def on_validation_start(self, trainer, module):
            evaluating.begin()

        def on_validation_end(self, trainer, module):
            evaluating.end()

        def on_train_epoch_end(self, trainer, module):
            log(trainer.callback_metrics)

        def on_train_end(self, trainer, module):
            prismtop.epoch()
    return Prismtop()


def transformers():
    """A callback for Transformers' Trainer."""
    from transformers import TrainerCallback
    evaluating = Evaluating()

    class Prismtop(TrainerCallback):
        def on_train_begin(self, args, state, control, **_):
            prismtop.accumulates()

        def on_epoch_begin(self, args, state, control, **_):
            prismtop.epoch(round(state.epoch or 0), math.ceil(state.num_train_epochs))

        def on_prediction_step(self, args, state, control, **_):
            evaluating.begin()

        def on_evaluate(self, args, state, control, **_):
            evaluating.end()

        on_predict = on_evaluate

        def on_log(self, args, state, control, logs=None, **_):
            log({name: value for name, value in (logs or {}).items() if not name.endswith(("_runtime", "_per_second"))}, "loss", "train_loss", "epoch", "step", "total_flos")

        def on_train_end(self, args, state, control, **_):
            prismtop.epoch()
    return Prismtop()


def accelerate():
    """A tracker for Accelerator(log_with=…): what accelerator.log is given."""
    from accelerate.tracking import GeneralTracker
    prismtop.accumulates()

    class Prismtop(GeneralTracker):
        name, requires_logging_directory, tracker = "prismtop", False, prismtop

        def log(self, values, step=None, **_):
            log(values, "loss", "epoch", "step")
    return Prismtop()


def keras():
    """A callback for Keras 3 on PyTorch. The optimizer's apply is a phase while the model is fitted."""
    import keras as framework
    evaluating = Evaluating()

    class Prismtop(framework.callbacks.Callback):
        def on_train_begin(self, logs=None):
            optimizer = self.model.optimizer
            apply, self.applied = optimizer.apply, optimizer

            def measured(*args, **kwargs):
                with prismtop.phase("optimizer"):
                    return apply(*args, **kwargs)
            object.__setattr__(optimizer, "apply", measured)

        def on_epoch_begin(self, epoch, logs=None):
            prismtop.epoch(epoch, self.params.get("epochs"))

        def on_train_batch_end(self, batch, logs=None):
            prismtop.step()

        def on_test_begin(self, logs=None):
            evaluating.begin()

        def on_test_end(self, logs=None):
            evaluating.end()

        def on_epoch_end(self, epoch, logs=None):
            log(logs or {}, "loss")

        def on_train_end(self, logs=None):
            self.applied.__dict__.pop("apply", None)
            prismtop.epoch()
    return Prismtop()
