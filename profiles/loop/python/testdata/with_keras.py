"""A Keras training of 4 epochs of 50 steps on PyTorch, with an evaluation and an accuracy: model.fit(..., callbacks=[prismtop.keras()])."""
import os

os.environ.setdefault("KERAS_BACKEND", "torch")

import keras  # noqa: E402
import numpy as np  # noqa: E402

import prismtop  # noqa: E402


def main():
    keras.utils.set_random_seed(1)
    x = np.random.default_rng(1).standard_normal((800, 16)).astype("float32")
    y = x[:, :4].argmax(1)
    model = keras.Sequential([keras.layers.Dense(32, activation="relu"), keras.layers.Dense(4)])
    model.compile(keras.optimizers.Adam(1e-2), keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    history = model.fit(x, y, 16, epochs=4, validation_data=(x, y), verbose=0, callbacks=[prismtop.keras()])
    for value in history.history["val_accuracy"]:
        print("val_accuracy", value)


if __name__ == "__main__":
    main()
