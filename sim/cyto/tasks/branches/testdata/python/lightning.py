class LightningDataModule:
    pass


class Callback:
    def __getattr__(self, name):
        if name.startswith(("on_", "setup")):
            return lambda *arguments, **named: None
        raise AttributeError(name)


def seed_everything(seed, workers):
    assert seed == 12345 and workers


class Trainer:
    """Runs a model as Lightning does, with the same hooks in the same order."""

    def __init__(self, cfg, callbacks, logger):
        assert logger is False and cfg["enable_checkpointing"] == "false"
        self.cfg, (self.hooks,) = cfg, callbacks
        self.callback_metrics, self.current_epoch = {}, 0

    def limit(self, name, loader):
        limit = self.cfg[f"limit_{name}_batches"]
        return len(loader) if limit == "1.0" else min(limit, len(loader))

    def fit(self, model, datamodule):
        self.train_dataloader = datamodule.loader
        self.num_training_batches = self.limit("train", datamodule.loader)
        for self.current_epoch in range(self.cfg["max_epochs"]):
            self.hooks.on_train_epoch_start(self, model)
            for i in range(self.num_training_batches):
                batch = model.transfer_batch_to_device(datamodule.loader[i], "cpu", 0)
                self.hooks.on_train_batch_start(self, model, batch, i)
                loss = model.training_step(batch, i)
                self.hooks.on_before_backward(self, model, loss)
                self.hooks.on_train_batch_end(self, model, loss, batch, i)
                self.callback_metrics["train/loss"] = loss
            self.callback_metrics["val/loss"] = float("nan")
            self.hooks.on_train_epoch_end(self, model)

    def predict(self, model, datamodule):
        self.predict_dataloaders = datamodule.loader
        self.hooks.setup(self, model, "predict")
        self.hooks.on_predict_epoch_start(self, model)
        outputs = []
        for i in range(self.limit("predict", datamodule.loader)):
            batch = model.transfer_batch_to_device(datamodule.loader[i], "cpu", 0)
            self.hooks.on_predict_batch_start(self, model, batch, i)
            outputs.append(model.predict_step(batch, i))
            self.hooks.on_predict_batch_end(self, model, outputs[-1], batch, i)
        return outputs
