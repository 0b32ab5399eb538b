"""A compiled model, in place or wrapped: the second argument says which."""
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F


def main(steps, how):
    torch.manual_seed(5)
    model = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Sequential(nn.Linear(32, 32), nn.GELU()), nn.Linear(32, 4))
    if how == "in place":
        model.compile(backend="aot_eager")
    else:
        model = torch.compile(model, backend="aot_eager")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    for _ in range(steps):
        x, y = torch.randn(8, 16), torch.randint(0, 4, (8,))
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(loss.item().hex())
    from torch._dynamo.utils import counters
    print("breaks", sum(counters["graph_break"].values()), file=sys.stderr)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
