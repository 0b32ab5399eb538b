"""A small convolutional network that learns to tell drawn shapes apart: `prismtop python demo.py`. It needs PyTorch alone."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def shapes(n, size=32):
    """Draws n noisy pictures of a disc, a square, a cross or a ring, at random places."""
    y, x = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    label = torch.randint(0, 4, (n,))
    centre = torch.randint(10, size - 10, (n, 2, 1, 1))
    dy, dx = (y - centre[:, 0]).abs(), (x - centre[:, 1]).abs()
    far = torch.sqrt((dy ** 2 + dx ** 2).float())
    drawn = torch.stack([far < 8, torch.maximum(dy, dx) < 7, (dy < 2) & (dx < 8) | (dx < 2) & (dy < 8), (far > 5) & (far < 8)], 1)
    picture = drawn[torch.arange(n), label].float()
    return (picture + 0.4 * torch.randn(n, size, size)).unsqueeze(1), label


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(1, 8, 3, padding=1)
        self.second = nn.Conv2d(8, 16, 3, padding=1)
        self.hidden = nn.Linear(16 * 8 * 8, 64)
        self.out = nn.Linear(64, 4)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.first(x)), 2)
        x = F.max_pool2d(F.relu(self.second(x)), 2)
        return self.out(F.relu(self.hidden(x.flatten(1))))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=1000)
    epochs = parser.parse_args().epochs
    torch.manual_seed(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    train = DataLoader(TensorDataset(*shapes(2048)), batch_size=32, shuffle=True)
    test_x, test_y = (t.to(device) for t in shapes(512))
    model = Net().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for epoch in range(epochs):
        model.train()
        for x, y in train:
            x, y = x.to(device), y.to(device)
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            right = (model(test_x).argmax(1) == test_y).float().mean().item()
        print(f"epoch {epoch + 1}: {100 * right:.1f} % of the test pictures are right")


if __name__ == "__main__":
    main()
