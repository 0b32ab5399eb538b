"""Converts a model that PtychoPINN saved with Keras to an NPZ file of weights that prismtop reads.

Usage: python3 keras.py MODEL WEIGHTS.npz

MODEL is PtychoPINN's wts.h5.zip, or a model.keras in it. Needs h5py and numpy, not TensorFlow; runs nothing of the file.
"""

import io
import json
import re
import sys
import zipfile

import h5py
import numpy


def opened(path):
    """Returns the archive of the model and its intensity scale, None if the file does not say it."""
    archive, scale = zipfile.ZipFile(path), None
    names = archive.namelist()
    models = sorted(n for n in names if n.endswith("model.keras"))
    if models:  # in wts.h5.zip, one folder a model
        at = next((n for n in models if "diffraction_to_obj" in n), models[0])
        stub = at[: -len("model.keras")] + "model.h5"
        if stub in names:
            with h5py.File(io.BytesIO(archive.read(stub))) as f:
                scale = f.attrs.get("intensity_scale")
        archive = zipfile.ZipFile(io.BytesIO(archive.read(at)))
    if "model.weights.h5" not in archive.namelist():
        sys.exit(f"{path}: must be PtychoPINN's wts.h5.zip or a model.keras of Keras 3")
    return archive, scale


def snake(name):
    """Keras's name of a class in files."""
    name = re.sub(r"\W+", "", name)
    name = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()


def groups(layers, root):
    """Yields each layer with its group in the file: they are numbered by class, in the order of the model."""
    named = {g.attrs.get("name", g["vars"].attrs.get("name") if "vars" in g else None): g for g in root.values()}
    seen = {}
    for layer in layers:
        key = snake(layer["class_name"])
        n = seen.get(key, 0)
        seen[key] = n + 1
        group = named.get(layer["config"]["name"])
        if group is None:
            group = root.get(f"{key}_{n}" if n else key)
        yield layer, group


def number(name):
    """The number at the end of a layer's name, in the order of their creation."""
    found = re.search(r"_(\d+)$", name)
    return int(found.group(1)) if found else 0


def main(source, target):
    archive, scale = opened(source)
    layers = json.loads(archive.read("config.json"))["config"]["layers"]
    for layer in layers:
        if layer["class_name"] == "ActivationLayer" and layer["config"].get("name") == "amp":
            print("amp_activation =", layer["config"].get("activation_name"))
    with h5py.File(io.BytesIO(archive.read("model.weights.h5"))) as f:
        root = f["layers"] if "layers" in f else f["_layer_checkpoint_dependencies"]
        convolutions = sorted(
            ((number(layer["config"]["name"]), group) for layer, group in groups(layers, root) if layer["class_name"] == "Conv2D"),
            key=lambda c: c[0],
        )
        arrays = {}
        for i, (_, group) in enumerate(convolutions):
            name = f"conv2d_{i}" if i else "conv2d"
            arrays[name + "/kernel"], arrays[name + "/bias"] = group["vars"]["0"][()], group["vars"]["1"][()]
    if not any(layer["config"].get("name") == "amp_padded" for layer in layers):
        sys.exit(f"{source}: pad_object = false: its network has no inner part; must be true")
    if scale is not None:
        arrays["log_scale"] = numpy.asarray(numpy.log(scale), "float32").reshape(())
    numpy.savez(target, **{k: v.astype("float32") for k, v in arrays.items()})
    print(f"{len(arrays)} arrays in {target}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
