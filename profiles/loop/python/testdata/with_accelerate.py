"""A loop of 4 epochs of 50 steps with Accelerate, which accumulates two batches: Accelerator(log_with=prismtop.accelerate())."""
import torch
import torch.nn.functional as F
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset

import prismtop


def main():
    torch.manual_seed(1)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2, log_with=prismtop.accelerate())
    accelerator.init_trackers("example")
    x = torch.randn(1600, 16)
    data = TensorDataset(x, x[:, :4].argmax(1))
    model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))
    model, optimizer, train, test = accelerator.prepare(model, torch.optim.AdamW(model.parameters(), lr=1e-2), DataLoader(data, 16, shuffle=True), DataLoader(data, 160))
    for epoch in range(4):
        prismtop.epoch(epoch, 4)
        model.train()
        for x, y in train:
            with accelerator.accumulate(model):
                loss = F.cross_entropy(model(x), y)
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
        model.eval()
        with torch.no_grad(), prismtop.evaluation():
            right = [(model(x).argmax(1) == y).float().mean().item() for x, y in test]
        print("val_acc", sum(right) / len(right))
        accelerator.log({"val_acc": sum(right) / len(right)})
    prismtop.epoch()
    accelerator.end_training()


if __name__ == "__main__":
    main()
