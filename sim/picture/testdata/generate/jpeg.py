"""JPEG: colour models, subsampling, coding, orientation."""

import io
import re

import numpy as np
from PIL import Image

from common import *

# Two readers' inverse transforms and conversions of colour each round.
ROUNDED = 2 * EIGHT


def ppm(pixels):
    return saved(pixels, "PPM")


def cjpeg(*options, pixels=None):
    return run("cjpeg", "-quality", "95", *options, stdin=ppm(smooth() if pixels is None else pixels))


def patched(data, marker, offset, value):
    """The byte at offset in the first segment of a marker, changed."""
    at = data.index(bytes([0xFF, marker])) + 4 + offset
    return data[:at] + bytes([value]) + data[at + 1 :]


def without(data, marker):
    at = data.index(bytes([0xFF, marker]))
    length = int.from_bytes(data[at + 2 : at + 4], "big")
    return data[:at] + data[at + 2 + length :]


def with_app1(data, body):
    return data[:2] + b"\xff\xe1" + (len(body) + 2).to_bytes(2, "big") + body + data[2:]


def pictures():
    plain = {"quality": 95}
    for size in (SMALL, LARGE):
        add(f"jpeg/grey-{size[0]}.jpg", saved(grey(size), "JPEG", **plain), ROUNDED)
        add(f"jpeg/colour-{size[0]}.jpg", saved(smooth(size), "JPEG", subsampling=0, **plain), ROUNDED)
    add("jpeg/grey-progressive.jpg", saved(grey(LARGE), "JPEG", progressive=True, **plain), ROUNDED)
    add("jpeg/grey-sampled-2x2.jpg", cjpeg("-grayscale", "-sample", "2x2"), ROUNDED)
    for sample in ("1x1", "2x1", "1x2", "2x2", "4x1", "1x4", "4x2", "2x4", "3x1"):
        add(f"jpeg/sampled-{sample}.jpg", cjpeg("-sample", sample), ROUNDED)
    for sample in ("1x1", "2x1", "1x2", "2x2"):
        add(f"jpeg/saturated-{sample}.jpg", cjpeg("-sample", sample, pixels=colour(LARGE)), ROUNDED)
    # Chroma of higher resolution than luma, and two chromas of different ones.
    add("jpeg/sampled-1x1-2x2-2x2.jpg", cjpeg("-sample", "1x1,2x2,2x2"), ROUNDED)
    add("jpeg/sampled-2x2-2x1-1x2.jpg", cjpeg("-sample", "2x2,2x1,1x2"), ROUNDED)
    for sample in ("1x1", "2x1", "2x2"):
        add(f"jpeg/progressive-{sample}.jpg", cjpeg("-progressive", "-sample", sample), ROUNDED)
    add("jpeg/restart.jpg", cjpeg("-restart", "1B"), ROUNDED)
    add("jpeg/optimised.jpg", cjpeg("-optimize"), ROUNDED)
    add("jpeg/scans.jpg", through(["jpegtran", "-scans", folder / "scans", "-outfile", "OUT", "IN"], cjpeg(), ".jpg"), ROUNDED)
    add("jpeg/rgb.jpg", cjpeg("-rgb", pixels=smooth()), ROUNDED)
    add("jpeg/rgb-no-adobe.jpg", without(cjpeg("-rgb"), 0xEE), ROUNDED)
    add("jpeg/no-jfif.jpg", without(cjpeg(), 0xE0), ROUNDED)
    cmyk = saved(Image.fromarray(smooth()).convert("CMYK"), "JPEG", **plain)
    ink = Image.fromarray(np.dstack([255 - smooth(), grey(LARGE) // 3]), "CMYK")
    inked = saved(ink, "JPEG", **plain)
    add("jpeg/cmyk-adobe.jpg", cmyk, ROUNDED)
    add("jpeg/cmyk-adobe-black.jpg", inked, ROUNDED)
    add("jpeg/ycck-adobe.jpg", patched(inked, 0xEE, 11, 2), ROUNDED)
    add("jpeg/cmyk-progressive.jpg", saved(ink, "JPEG", progressive=True, **plain), ROUNDED)
    add("jpeg/cmyk-no-adobe.jpg", without(inked, 0xEE), ROUNDED)
    add("jpeg/cmyk-magick.jpg", magick(smooth(), "jpg", "-colorspace", "CMYK", "-quality", "95"), ROUNDED)
    for name, options in (("", ()), ("-progressive", ("-progressive",)), ("-grey", ("-grayscale",))):
        add(f"jpeg/arithmetic{name}.jpg", cjpeg("-arithmetic", *options), ROUNDED)
    # Only the headers say so: what readers must look at first.
    add("jpeg/12-bit.jpg", patched(cjpeg(), 0xC0, 0, 12))
    for name, marker in (("extended", 0xC1), ("lossless", 0xC3), ("hierarchical", 0xC5), ("lossless-arithmetic", 0xCB), ("jpeg-ls", 0xF7)):
        data = cjpeg()
        at = data.index(b"\xff\xc0")
        add(f"jpeg/{name}.jpg", data[:at] + bytes([0xFF, marker]) + data[at + 2 :], ROUNDED)
    add("jpeg/two-components.jpg", two_components(cjpeg("-grayscale")))
    upright = saved(grey(), "JPEG", **plain)
    for k in range(1, 9):
        add(f"jpeg/exif-{k}.jpg", with_app1(upright, exif(k, "<>"[k % 2], b"Exif\0\0")), ROUNDED)
    coloured = cjpeg("-sample", "2x2")
    add("jpeg/exif-6-colour.jpg", with_app1(coloured, exif(6, prefix=b"Exif\0\0")), ROUNDED)
    add("jpeg/exif-8-progressive.jpg", with_app1(cjpeg("-progressive"), exif(8, prefix=b"Exif\0\0")), ROUNDED)
    add("jpeg/exif-6-cmyk.jpg", with_app1(inked, exif(6, prefix=b"Exif\0\0")), ROUNDED)
    xmp = b"http://ns.adobe.com/xap/1.0/\0<x:xmpmeta xmlns:x='adobe:ns:meta/'/>"
    add("jpeg/exif-6-after-xmp.jpg", with_app1(with_app1(upright, exif(6, prefix=b"Exif\0\0")), xmp), ROUNDED)
    add("jpeg/exif-0.jpg", with_app1(upright, exif(0, prefix=b"Exif\0\0")), ROUNDED)
    add("jpeg/exif-damaged.jpg", with_app1(upright, exif(6, prefix=b"Exif\0\0")[:20]), ROUNDED)


def two_components(data):
    """A header of two components over the data of one."""
    at = data.index(b"\xff\xc0")
    head = data[at + 4 : at + 13]
    frame = b"\xff\xc0\0\x0e" + head[:5] + b"\2" + head[6:9] + b"\2\x11\0"
    return data[:at] + frame + data[at + 13 :]


(folder / "scans").write_text("0;\n1;\n2;\n")
