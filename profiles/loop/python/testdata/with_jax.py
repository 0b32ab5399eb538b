"""A loop of 4 epochs of 50 steps in JAX: a step is compiled as a whole, so that its phases are the batch and the step."""
import jax
import jax.numpy as jnp
import numpy as np

import prismtop


@jax.jit
def update(w, x, y):
    loss, gradient = jax.value_and_grad(lambda w: ((x @ w - y) ** 2).mean())(w)
    return w - 0.05 * gradient, loss


def main():
    rng = np.random.default_rng(1)
    x = rng.standard_normal((800, 16), dtype=np.float32)
    y = x @ rng.standard_normal(16, dtype=np.float32)
    w = jnp.zeros(16)
    for epoch in range(4):
        prismtop.epoch(epoch, 4)
        batches = ((x[i:i + 16], y[i:i + 16]) for i in range(0, 800, 16))
        for a, b in prismtop.steps(batches, items="samples"):
            with prismtop.phase("update"):
                w, loss = update(w, a, b)
                loss.block_until_ready()  # or the phase ends when the work is queued
            prismtop.log(loss=loss)
        with prismtop.evaluation():
            r2 = float(1 - ((x @ w - y) ** 2).mean() / y.var())
        print("r2_score", r2)
        prismtop.log(r2_score=r2)
    prismtop.epoch()


if __name__ == "__main__":
    main()
