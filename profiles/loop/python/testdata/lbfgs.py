"""A fit by LBFGS, whose closure runs the model several times a step."""
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F


def main(steps):
    torch.manual_seed(4)
    model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
    x = torch.randn(64, 4)
    y = x.prod(1, keepdim=True)
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=4)

    def closure():
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        return loss

    for _ in range(steps):
        print(optimizer.step(closure).item().hex())


if __name__ == "__main__":
    main(int(sys.argv[1]))
