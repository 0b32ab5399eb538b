"""A GAN: two models, two optimizers, a forward pass without gradients."""
import sys

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def main(steps):
    torch.manual_seed(3)
    generator = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 16))
    critic = nn.Sequential(nn.Linear(16, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
    g = torch.optim.Adam(generator.parameters(), lr=1e-3)
    d = torch.optim.Adam(critic.parameters(), lr=1e-3)
    says = nn.BCEWithLogitsLoss()
    loader = DataLoader(TensorDataset(torch.randn(320, 16)), batch_size=16, shuffle=True)
    n = 0
    while n < steps:
        for real, in loader:
            ones, zeros = torch.ones(len(real), 1), torch.zeros(len(real), 1)
            d.zero_grad()
            with torch.no_grad():
                fake = generator(torch.randn(len(real), 8))
            d_loss = says(critic(real), ones) + says(critic(fake), zeros)
            d_loss.backward()
            d.step()
            g.zero_grad()
            g_loss = says(critic(generator(torch.randn(len(real), 8))), ones)
            g_loss.backward()
            g.step()
            print(d_loss.item().hex(), g_loss.item().hex())
            n += 1
            if n == steps:
                return


if __name__ == "__main__":
    main(int(sys.argv[1]))
