"""What is pictured, the programs that write it, and the levels that readers give.

A picture's levels are what Pillow reads, turned by Pillow as its orientation says
and made grey by the rule that docs/pictures.md states: 0.2989 red, 0.587 green and
0.114 blue, over black where it is transparent; grey pictures as they are. They are
in units of 1/65535. Pillow reads colour in 8 bits: levels of 16-bit colour are
ImageMagick's. Pictures that neither reads have none. A tolerance, in the same
units, allows what the format's readers round differently; without one it is
EXACT.
"""

import io
import pathlib
import struct
import subprocess
import tempfile
import zlib

import numpy as np
from PIL import Image, ImageOps

EXACT = 8  # the luma weights' sum is 0.9999
EIGHT = 257  # one level of 8 bits
LUMA = np.array([0.2989, 0.587, 0.114])
SMALL, LARGE = (12, 9), (20, 17)  # LARGE is more than a block of JPEG, WebP or a tile

made = {}
folder = pathlib.Path(tempfile.mkdtemp())


# What is pictured: nothing that a turn, a flip, an inversion or swapped channels
# leaves as it is.


def grey(size=SMALL, bits=8):
    w, h = size
    y, x = np.mgrid[0:h, 0:w]
    v = (x / (w - 1) * 0.7 + y / (h - 1) * 0.3) * (2**bits - 1)
    v[1:4, 1:6] = 0
    v[h - 3 :, : w // 3] = 2**bits - 1
    return np.rint(v).astype(np.uint16 if bits > 8 else np.uint8)


def colour(size=SMALL, bits=8):
    w, h = size
    y, x = np.mgrid[0:h, 0:w]
    v = np.stack([x / (w - 1), y / (h - 1), (x + 2 * y) % 11 / 10], 2) * (2**bits - 1)
    v[1:4, 1:6] = 0
    v[h - 3 :, : w // 3] = np.array([1, 0.5, 0.25]) * (2**bits - 1)
    return np.rint(v).astype(np.uint16 if bits > 8 else np.uint8)


def smooth(size=LARGE):
    """Colours far from the cube's faces that change slowly, for lossy formats:
    readers spread subsampled chroma in different ways, which luma hardly shows."""
    w, h = size
    y, x = np.mgrid[0:h, 0:w]
    v = np.stack([60 + 130 * x / (w - 1), 200 - 120 * y / (h - 1), 80 + 60 * (x + y) / (w + h)], 2)
    return np.rint(v).astype(np.uint8)


def alpha(size=SMALL, bits=8):
    w, h = size
    y, x = np.mgrid[0:h, 0:w]
    v = np.clip((x + y - 3) / 10, 0, 1) * (2**bits - 1)
    return np.rint(v).astype(np.uint16 if bits > 8 else np.uint8)


def with_alpha(pixels, bits=8):
    if pixels.ndim == 2:
        pixels = pixels[:, :, None]
    return np.dstack([pixels, alpha(pixels.shape[1::-1], bits)])


def bilevel(size=SMALL):
    return (grey(size) > 120).astype(np.uint8)


def indexed(colours, size=SMALL):
    """Indices and a palette of as many colours."""
    w, h = size
    y, x = np.mgrid[0:h, 0:w]
    index = ((x + 3 * y) % colours).astype(np.uint8)
    k = np.arange(colours)
    palette = np.stack([k * 255 // max(1, colours - 1), k * 83 % 256, 255 - k * 29 % 256], 1)
    return index, palette.astype(np.uint8)


def paletted(colours, size=SMALL):
    index, palette = indexed(colours, size)
    im = Image.fromarray(index, "P")
    im.putpalette(palette.tobytes())
    return im


# Other programs.


def run(*command, stdin=None):
    done = subprocess.run([str(c) for c in command], input=stdin, capture_output=True)
    if done.returncode:
        raise RuntimeError(f"{command}: {done.stderr.decode()}")
    return done.stdout


def through(command, data, ending, source="in.tif"):
    """What a command makes of data: IN and OUT in it are files."""
    before, after = folder / source, folder / ("out" + ending)
    before.write_bytes(data)
    after.unlink(missing_ok=True)
    run(*[{"IN": before, "OUT": after}.get(c, c) for c in command])
    return after.read_bytes()


def saved(im, form, **options):
    if not isinstance(im, Image.Image):
        im = Image.fromarray(im)
    out = io.BytesIO()
    im.save(out, form, **options)
    return out.getvalue()


def magick(im, target, *options):
    """ImageMagick's file of a picture."""
    prefix, ending = target.split(":")[0] + ":" if ":" in target else "", "." + target.split(":")[-1]
    before, after = folder / "in.png", folder / ("out" + ending)
    before.write_bytes(im if isinstance(im, bytes) else saved(im, "PNG"))
    run("convert", before, *options, prefix + str(after))
    return after.read_bytes()


def add(name, data, tolerance=EXACT, reader="Pillow", source=None):
    """A picture whose levels a reader gives; of none that reads it right, source."""
    assert name not in made, name
    made[name] = {"data": data, "tolerance": tolerance, "reader": reader, "source": source}


# Levels.


def luma(rgba):
    return rgba[..., :3] @ LUMA * rgba[..., 3] * 65535


def pillow(data):
    im = Image.open(io.BytesIO(data))
    if im.format != "TIFF":  # which Pillow turns by itself
        im = ImageOps.exif_transpose(im)
    if im.mode in ("1", "L") and "transparency" not in im.info:
        return np.asarray(im.convert("L")) * 257.0
    if im.mode in ("I", "I;16", "I;16B"):
        return np.asarray(im).astype(float)
    if im.mode == "F":
        return np.asarray(im) * 65535.0
    if im.mode in ("CMYK", "YCbCr", "LAB"):
        im = im.convert("RGB")
    return luma(np.asarray(im.convert("RGBA")) / 255.0)


def imagemagick(data, name):
    path, raw = folder / ("read." + name.rsplit(".")[-1]), folder / "read.rgba"
    path.write_bytes(data)
    size = run("convert", f"{path}[0]", "-auto-orient", "-depth", "16", "-endian", "LSB",
        "+write", f"rgba:{raw}", "-format", "%w %h", "info:")
    w, h = map(int, size.split())
    return luma(np.frombuffer(raw.read_bytes(), "<u2").reshape(h, w, 4) / 65535.0)


def levels(name, picture):
    try:
        if picture["source"] is not None:
            return picture["source"]
        if picture["reader"] == "ImageMagick":
            return imagemagick(picture["data"], name)
        return pillow(picture["data"])
    except Exception as fault:  # a reader that refuses the variant leaves it without levels
        print(f"{name}: {picture['reader']} reads none: {fault}")
        return None


# Exif with an orientation, in either byte order.


def exif(orientation, order="<", prefix=b"", kind=3):
    value = struct.pack(order + ("HH" if kind == 3 else "I"), *((orientation, 0) if kind == 3 else (orientation,)))
    head = b"II*\0" if order == "<" else b"MM\0*"
    return prefix + head + struct.pack(order + "IHHHI", 8, 1, 274, kind, 1) + value + bytes(4)


def png_chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def with_chunk(data, kind, body, last=False):
    at = len(data) - 12 if last else 33
    return data[:at] + png_chunk(kind, body) + data[at:]


def raw_png(size, bits, kind, rows, *chunks, interlace=0):
    w, h = size
    head = struct.pack(">IIBBBBB", w, h, bits, kind, 0, 0, interlace)
    out = b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", head)
    for c in chunks:
        out += png_chunk(*c)
    return out + png_chunk(b"IDAT", zlib.compress(b"".join(b"\0" + r for r in rows))) + png_chunk(b"IEND", b"")


def packed(values, bits):
    """Rows of values of so many bits, big-endian, each row from a new byte."""
    if bits == 16:
        return [r.astype(">u2").tobytes() for r in values]
    if bits == 8:
        return [r.tobytes() for r in values]
    rows = []
    for r in values:
        r = r.reshape(-1)
        planes = [(r >> (bits - 1 - k)) & 1 for k in range(bits)]
        rows.append(np.packbits(np.stack(planes, 1).reshape(-1)).tobytes())
    return rows
