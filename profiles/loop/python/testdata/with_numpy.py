"""A loop of 4 epochs of 50 steps in NumPy: phases, steps, epochs and metrics by a few lines."""
import numpy as np

import prismtop


def main():
    rng = np.random.default_rng(1)
    x = rng.standard_normal((800, 16))
    y = x @ rng.standard_normal(16)
    w = np.zeros(16)
    rate = prismtop.knob("rate", 0.05, low=1e-4, high=1.0, touches=[], help="factor of the gradient")
    for epoch in range(4):
        prismtop.epoch(epoch, 4)
        batches = ((x[i:i + 16], y[i:i + 16]) for i in range(0, 800, 16))
        for a, b in prismtop.steps(batches, items="samples"):
            with prismtop.phase("forward"):
                error = a @ w - b
            with prismtop.phase("backward"):
                gradient = a.T @ error / len(b)
            with prismtop.phase("optimizer"):
                w -= rate.value * gradient
            prismtop.log(loss=(error ** 2).mean())
        with prismtop.evaluation():
            r2 = 1 - ((x @ w - y) ** 2).mean() / y.var()
        print("r2_score", r2)
        prismtop.log(r2_score=r2)
    prismtop.epoch()


if __name__ == "__main__":
    main()
