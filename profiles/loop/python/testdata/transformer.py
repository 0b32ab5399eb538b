"""A small transformer with accumulation, clipping and a learning-rate schedule."""
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F

ACCUMULATE = 4


class LM(nn.Module):
    def __init__(self, width=32, layers=3, vocabulary=64):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.blocks = nn.ModuleList([nn.TransformerEncoderLayer(width, 4, 4 * width, batch_first=True) for _ in range(layers)])
        self.out = nn.Linear(width, vocabulary)

    def forward(self, x):
        x = self.embed(x)
        for block in self.blocks:
            x = block(x)
        return self.out(x)


def main(steps):
    torch.manual_seed(2)
    model = LM()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 200)
    for step in range(steps):
        optimizer.zero_grad()
        total = 0.0
        for _ in range(ACCUMULATE):
            x = torch.randint(0, 64, (4, 17))
            loss = F.cross_entropy(model(x[:, :-1]).reshape(-1, 64), x[:, 1:].reshape(-1)) / ACCUMULATE
            loss.backward()
            total += loss.item()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        print(total.hex())


if __name__ == "__main__":
    main(int(sys.argv[1]))
