#!/usr/bin/python3
"""Makes ../pictures.zip and ../expected.json: small pictures in every variant of
the formats, and the grey levels that other readers give them.

    /usr/bin/python3 sim/picture/testdata/generate/pictures.py

Needs Pillow, NumPy, ImageMagick 6, the tools of libtiff, libjpeg and WebP: in
Debian python3-pil, python3-numpy, imagemagick, libtiff-tools, libjpeg-turbo-progs
and webp. expected.json states the versions that made it. The Go tests need none of
them.
"""

import json
import pathlib
import re
import zipfile

import numpy as np
import PIL
from PIL import features

import bmp
import common
import gif
import jpeg
import png
import tiff
import webp


def versions():
    magick = re.search(r"ImageMagick (\S+)", common.run("convert", "-version").decode())[1]
    return {
        "Pillow": PIL.__version__,
        "ImageMagick": magick,
        "libtiff": features.version_codec("libtiff"),
        "libjpeg": features.version_codec("jpg"),
        "libwebp": features.version_module("webp"),
    }


def main():
    for form in (png, jpeg, gif, tiff, bmp, webp):
        form.pictures()
    target = pathlib.Path(__file__).parent.parent
    lines, first = [], {}
    with zipfile.ZipFile(target / "pictures.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, picture in common.made.items():
            archive.writestr(zipfile.ZipInfo(name, (2000, 1, 1, 0, 0, 0)), picture["data"], zipfile.ZIP_DEFLATED, 9)
            levels = common.levels(name, picture)
            entry = {"tolerance": picture["tolerance"]}
            if levels is not None:
                entry["reader"] = "source" if picture["source"] is not None else picture["reader"]
                known = [levels.shape[1], levels.shape[0], *np.rint(levels).astype(int).reshape(-1).tolist()]
                entry["like"] = first.setdefault(tuple(known), name)
                if entry["like"] == name:
                    entry |= {"width": known[0], "height": known[1], "levels": known[2:]}
                    del entry["like"]
            lines.append(f"{json.dumps(name)}: {json.dumps(entry, separators=(',', ':'))}")
    head = json.dumps({"made with": versions()})[:-1]
    (target / "expected.json").write_text(head + ',\n"pictures": {\n' + ",\n".join(lines) + "\n}}\n")
    print(len(lines), "pictures")


main()
