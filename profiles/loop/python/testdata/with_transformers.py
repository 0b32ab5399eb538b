"""A training of 4 epochs of 50 steps by Transformers' Trainer, with accumulation and evaluations: Trainer(..., callbacks=[prismtop.transformers()])."""
import tempfile

import torch
import torch.nn.functional as F
from transformers import Trainer, TrainingArguments

import prismtop


class Classifier(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))

    def forward(self, x, labels=None):
        logits = self.net(x)
        return {"loss": F.cross_entropy(logits, labels), "logits": logits}


def accuracy(prediction):
    value = float((prediction.predictions.argmax(1) == prediction.label_ids).mean())
    print("eval_accuracy", value)
    return {"accuracy": value}


def main():
    torch.manual_seed(1)
    x = torch.randn(1600, 16)
    data = [{"x": row, "labels": label} for row, label in zip(x, x[:, :4].argmax(1))]
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(folder, num_train_epochs=4, per_device_train_batch_size=16, gradient_accumulation_steps=2, eval_strategy="epoch", save_strategy="no",
                                      learning_rate=1e-2, logging_steps=10, report_to=[], use_cpu=True, disable_tqdm=True)
        Trainer(Classifier(), arguments, train_dataset=data, eval_dataset=data, compute_metrics=accuracy, callbacks=[prismtop.transformers()]).train()


if __name__ == "__main__":
    main()
