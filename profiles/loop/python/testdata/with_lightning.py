"""A Lightning training of 4 epochs of 50 steps with accumulation, an evaluation and an accuracy: Trainer(callbacks=[prismtop.lightning()])."""
import lightning
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

import prismtop


class Classifier(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))

    def training_step(self, batch, _):
        x, y = batch
        loss = F.cross_entropy(self.net(x), y)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, _):
        x, y = batch
        self.log("val_acc", (self.net(x).argmax(1) == y).float().mean())

    def on_validation_epoch_end(self):
        print("val_acc", self.trainer.callback_metrics["val_acc"].item())

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-2)


def main():
    lightning.seed_everything(1, verbose=False)
    x = torch.randn(1600, 16)
    data = TensorDataset(x, x[:, :4].argmax(1))
    trainer = lightning.Trainer(max_epochs=4, accumulate_grad_batches=2, callbacks=[prismtop.lightning()], logger=False, enable_checkpointing=False,
                                enable_progress_bar=False, enable_model_summary=False, accelerator="cpu", log_every_n_steps=10)
    trainer.fit(Classifier(), DataLoader(data, 16, shuffle=True), DataLoader(data, 160))


if __name__ == "__main__":
    main()
