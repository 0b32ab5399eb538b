"""A DataLoader with eight workers; the model is saved and copied while it trains."""
import copy
import io
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Data(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        return torch.randn(8, generator=g), i % 4


def main(steps):
    torch.manual_seed(6)
    loader = DataLoader(Data(), batch_size=4, num_workers=8)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    n = 0
    while n < steps:
        for x, y in loader:
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(loss.item().hex())
            n += 1
        saved = io.BytesIO()
        torch.save(model, saved)
        assert b"prismtop" not in saved.getvalue()
        saved.seek(0)
        same = torch.load(saved, weights_only=False), copy.deepcopy(model)
        assert all(torch.equal(m(x), model(x)) for m in same)


if __name__ == "__main__":
    main(int(sys.argv[1]))
