"""Converts a model that PtychoPINN saved with Keras to an NPZ file of weights that prismtop reads, or puts such weights into a model.

Usage: python3 keras.py MODEL WEIGHTS.npz
       python3 keras.py --into MODEL WEIGHTS.npz NEW

MODEL is PtychoPINN's wts.h5.zip, or a model.keras in it. The weights of --into are those of prismtop weights export --names keras;
NEW is MODEL with their numbers. Needs h5py and numpy, not TensorFlow; runs nothing of the file.
"""

import io
import json
import re
import sys
import zipfile

import h5py
import numpy

WEIGHTS = "model.weights.h5"


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
    if WEIGHTS not in archive.namelist():
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


def layers_of(archive):
    """The layers of a model's configuration."""
    return json.loads(archive.read("config.json"))["config"]["layers"]


def convolutions(layers, f):
    """Yields the name and the group in a file of weights of each convolution, numbered in the order of their creation."""
    root = f["layers"] if "layers" in f else f["_layer_checkpoint_dependencies"]
    found = ((number(layer["config"]["name"]), group) for layer, group in groups(layers, root) if layer["class_name"] == "Conv2D")
    for i, (_, group) in enumerate(sorted(found, key=lambda c: c[0])):
        yield f"conv2d_{i}" if i else "conv2d", group


def read(source, target):
    """Writes the weights of a model."""
    archive, scale = opened(source)
    layers = layers_of(archive)
    for layer in layers:
        if layer["class_name"] == "ActivationLayer" and layer["config"].get("name") == "amp":
            print("amp_activation =", layer["config"].get("activation_name"))
    arrays = {}
    with h5py.File(io.BytesIO(archive.read(WEIGHTS))) as f:
        for name, group in convolutions(layers, f):
            arrays[name + "/kernel"], arrays[name + "/bias"] = group["vars"]["0"][()], group["vars"]["1"][()]
    if not any(layer["config"].get("name") == "amp_padded" for layer in layers):
        sys.exit(f"{source}: pad_object = false: its network has no inner part; must be true")
    if scale is not None:
        arrays["log_scale"] = numpy.asarray(numpy.log(scale), "float32").reshape(())
    numpy.savez(target, **{k: v.astype("float32") for k, v in arrays.items()})
    print(f"{len(arrays)} arrays in {target}")


def changed(data, change):
    """Returns a file of HDF5 after a change."""
    file = io.BytesIO(data)
    with h5py.File(file, "r+") as f:
        change(f)
    return file.getvalue()


def rewritten(data, change):
    """Returns a zip archive whose members are what change makes of their names and data."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(file, "w") as new:
        for entry in old.infolist():
            new.writestr(entry, change(old, entry.filename, old.read(entry)))
    return file.getvalue()


def into(source, weights, target):
    """Writes a model with the numbers of a file of weights."""
    with numpy.load(weights) as f:
        arrays = {name: f[name] for name in f.files}
    put = set()

    def fill(layers, f):
        for name, group in convolutions(layers, f):
            for part, at in (("kernel", "0"), ("bias", "1")):
                to, values = group["vars"][at], arrays.get(f"{name}/{part}")
                if values is None or values.shape != to.shape:
                    sys.exit(f"{weights}: {name}/{part}: must have the shape {to.shape} of {source}")
                to[...] = values
                put.add(f"{name}/{part}")

    def scaled(f):
        if "intensity_scale" in f.attrs and "log_scale" in arrays:
            f.attrs["intensity_scale"] = numpy.exp(arrays["log_scale"])

    def change(archive, name, data):
        if name == WEIGHTS:
            return changed(data, lambda f: fill(layers_of(archive), f))
        if name.endswith("model.keras"):
            return rewritten(data, change)
        if name.endswith("model.h5"):
            return changed(data, scaled)
        return data

    opened(source)
    with open(source, "rb") as f:
        data = rewritten(f.read(), change)
    if len(put) != len(arrays.keys() - {"log_scale"}):
        sys.exit(f"{weights}: {sorted(arrays.keys() - put - {'log_scale'})[0]} is not in {source}")
    with open(target, "wb") as f:
        f.write(data)
    print(f"{len(put)} arrays in {target}")


if __name__ == "__main__":
    if len(sys.argv) == 5 and sys.argv[1] == "--into":
        into(*sys.argv[2:])
    elif len(sys.argv) == 3:
        read(*sys.argv[1:])
    else:
        sys.exit(__doc__)
