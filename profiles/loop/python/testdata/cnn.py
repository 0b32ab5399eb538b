"""A small CNN with a gradient scaler and an evaluation each epoch, as a user would write it."""
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, 3)
        self.conv2 = nn.Conv2d(4, 8, 3)
        self.dropout = nn.Dropout(0.25)
        self.fc = nn.Linear(8 * 6 * 6, 10)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return F.log_softmax(self.fc(self.dropout(torch.flatten(x, 1))), 1)


def main(steps):
    torch.manual_seed(1)
    data = TensorDataset(torch.randn(512, 1, 16, 16), torch.randint(0, 10, (512,)))
    loader = DataLoader(data, batch_size=8, shuffle=True)
    model = Net()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    n = 0
    while n < steps:
        model.train()
        for x, y in loader:
            optimizer.zero_grad()
            loss = F.nll_loss(model(x), y)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            print(loss.item().hex())
            n += 1
            if n == steps:
                return
        model.eval()
        with torch.no_grad():
            for x, y in loader:
                model(x)


if __name__ == "__main__":
    main(int(sys.argv[1]))
