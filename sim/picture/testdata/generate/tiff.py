"""TIFF: compression, photometric interpretation, depth, predictor, planes, tiles,
byte order, fill order, BigTIFF, orientation."""

import struct

import numpy as np
from PIL import Image

from common import *

ROUNDED = 2 * EIGHT
WHITE_IS_ZERO, BLACK_IS_ZERO, RGB, PALETTE, MASK, CMYK, YCBCR, LAB = 0, 1, 2, 3, 4, 5, 6, 8


def tiff(size, bits, photometric, data, order="<", samples=None, extra=(), big=False, **tags):
    """An uncompressed file of one strip, or of the strips or planes in data. bits
    are those of each sample; tags are more entries, number as tNNN."""
    data = [data] if isinstance(data, bytes) else data
    w, h = size
    entries = {256: ("I", [w]), 257: ("I", [h]), 258: ("H", list(bits)), 259: ("H", [1]), 262: ("H", [photometric]),
        277: ("H", [len(bits) if samples is None else samples]), 278: ("I", [h]), 279: ("I", [len(d) for d in data])}
    if extra:
        entries[338] = ("H", list(extra))
    for name, (kind, values) in tags.items():
        entries[int(name[1:])] = (kind, values)
    start, offsets = 16, []
    body = b""
    for d in data:
        offsets.append(start + len(body))
        body += d + bytes(len(d) % 2)
    entries[273] = ("I", offsets)
    entries = {k: v for k, v in entries.items() if v[1] is not None}
    kinds, sizes = {"B": 1, "H": 3, "I": 4, "Q": 16}, {"B": 1, "H": 2, "I": 4, "Q": 8}
    room, directory, beyond = (8, b"", b"") if big else (4, b"", b"")
    each = 20 if big else 12
    head = start + len(body)
    after = head + (8 if big else 2) + each * len(entries) + (8 if big else 4)
    for tag in sorted(entries):
        kind, values = entries[tag]
        packed_values = struct.pack(f"{order}{len(values)}{kind}", *values)
        if len(packed_values) > room:
            where = struct.pack(order + ("Q" if big else "I"), after + len(beyond))
            beyond += packed_values + bytes(len(packed_values) % 2)
            packed_values = where
        directory += struct.pack(order + ("HHQ" if big else "HHI"), tag, kinds[kind], len(values)) + packed_values.ljust(room, b"\0")
    mark = b"II" if order == "<" else b"MM"
    if big:
        first = mark + struct.pack(order + "HHHQ", 43, 8, 0, head)
        count = struct.pack(order + "Q", len(entries))
    else:
        first = (mark + struct.pack(order + "HI", 42, head)).ljust(16, b"\0")
        count = struct.pack(order + "H", len(entries))
    return first + body + count + directory + bytes(8 if big else 4) + beyond


def strip(pixels, bits, order="<"):
    if bits == 16:
        return pixels.astype(order + "u2").tobytes()
    return b"".join(packed(pixels, bits))


def gray(size=SMALL, bits=8, photometric=BLACK_IS_ZERO, order="<", **more):
    v = bilevel(size) if bits == 1 else grey(size, bits)
    if photometric == WHITE_IS_ZERO:
        v = (2**bits - 1) - v
    return tiff(size, [bits], photometric, strip(v, bits, order), order, **more)


def color(size=SMALL, bits=8, order="<", **more):
    return tiff(size, [bits] * 3, RGB, strip(colour(size, bits), bits, order), order, **more)


def mapped(size=SMALL, bits=8, order="<", **more):
    index, palette = indexed(min(2**bits, 100), size)
    table = np.zeros((3, 2**bits), np.uint16)
    table[:, : len(palette)] = palette.T.astype(np.uint16) * 257
    return tiff(size, [bits], PALETTE, strip(index, bits), order, t320=("H", [int(v) for v in table.reshape(-1)]), **more)


def tiffcp(data, *options):
    return through(["tiffcp", *options, "IN", "OUT"], data, ".tif")


def set_tag(data, tag, value):
    """The value of a SHORT or LONG entry with one value, changed in place."""
    order = "<" if data[:2] == b"II" else ">"
    at = struct.unpack(order + "I", data[4:8])[0]
    for k in range(struct.unpack(order + "H", data[at : at + 2])[0]):
        entry = at + 2 + 12 * k
        found, kind = struct.unpack(order + "HH", data[entry : entry + 4])
        if found == tag:
            field = struct.pack(order + ("HH" if kind == 3 else "I"), *((value, 0) if kind == 3 else (value,)))
            return data[:entry + 8] + field + data[entry + 12 :]
    raise ValueError(tag)


BASES = {
    "white-1": lambda **k: gray(bits=1, photometric=WHITE_IS_ZERO, **k),
    "black-1": lambda **k: gray(bits=1, **k),
    "white-8": lambda **k: gray(photometric=WHITE_IS_ZERO, **k),
    "black-8": lambda **k: gray(**k),
    "white-16": lambda **k: gray(bits=16, photometric=WHITE_IS_ZERO, **k),
    "black-16": lambda **k: gray(bits=16, **k),
    "rgb-8": lambda **k: color(**k),
    "rgb-16": lambda **k: color(bits=16, **k),
    "palette-8": lambda **k: mapped(**k),
    "palette-1": lambda **k: mapped(bits=1, **k),
}


def reader_of(name):
    """Pillow reads 16-bit colour in 8 bits, and white as 65535 where it is 0."""
    deep = "16" in name and any(kind in name for kind in ("rgb", "alpha", "white"))
    return "ImageMagick" if deep else "Pillow"


def put(name, data, tolerance=EXACT, reader=None, source=None):
    add(f"tiff/{name}.tif", data, tolerance, reader or reader_of(name), source)


def pictures():
    depths()
    colours()
    compressions()
    fax()
    orders()
    predictors()
    planes()
    pages()
    orientations()
    damaged_or_strange()


def depths():
    for order, name in (("<", ""), (">", "-big-endian")):
        for kind, base in BASES.items():
            put(kind + name, base(order=order))
    for bits in (2, 4):
        for photometric, name in ((WHITE_IS_ZERO, "white"), (BLACK_IS_ZERO, "black")):
            put(f"{name}-{bits}", gray(bits=bits, photometric=photometric))
        put(f"palette-{bits}", mapped(bits=bits))
    twelve = packed(grey(bits=12).astype(np.uint16), 12)
    put("black-12", tiff(SMALL, [12], BLACK_IS_ZERO, b"".join(twelve)))
    put("black-32", tiff(SMALL, [32], BLACK_IS_ZERO, (grey(bits=16).astype("<u4") * 65537).tobytes()))
    for bits, kind in ((16, "<f2"), (32, "<f4"), (64, "<f8")):
        put(f"black-float-{bits}", tiff(SMALL, [bits], BLACK_IS_ZERO, (grey() / 255).astype(kind).tobytes(), t339=("H", [3])))
    put("black-signed-8", tiff(SMALL, [8], BLACK_IS_ZERO, (grey() // 2).astype("i1").tobytes(), t339=("H", [2])))
    put("black-signed-16", tiff(SMALL, [16], BLACK_IS_ZERO, (grey(bits=16) // 2).astype("<i2").tobytes(), t339=("H", [2])))
    put("black-complex", tiff(SMALL, [64], BLACK_IS_ZERO, grey().astype("<c8").tobytes(), t339=("H", [6])))
    put("black-unsigned-8", gray(t339=("H", [1])))
    put("black-void-8", gray(t339=("H", [4])))
    put("black-no-bits", tiff(SMALL, [1], BLACK_IS_ZERO, strip(bilevel(), 1), t258=("H", None)))
    put("pillow-bilevel", saved(Image.fromarray(bilevel() * 255).convert("1"), "TIFF"))
    # Pillow writes 65280 for white and reads 8 bits of it.
    put("pillow-palette", saved(paletted(100), "TIFF"), EIGHT)
    put("pillow-16", saved(Image.fromarray(grey(bits=16)), "TIFF"))
    put("pillow-float", saved(Image.fromarray((grey() / 255).astype(np.float32)), "TIFF"))


def colours():
    rgba = with_alpha(colour())
    blend = (rgba[..., :3] * (rgba[..., 3:] / 255.0)).round().astype(np.uint8)
    premultiplied = np.dstack([blend, rgba[..., 3]])
    deep = with_alpha(colour(bits=16), 16)
    deep_blend = np.dstack([(deep[..., :3] * (deep[..., 3:] / 65535.0)).round().astype(np.uint16), deep[..., 3]])
    for order, name in (("<", ""), (">", "-big-endian")):
        put("rgb-alpha-8" + name, tiff(SMALL, [8] * 4, RGB, strip(rgba, 8), order, extra=[2]))
        # Pillow divides by alpha in 8 bits and this multiplies again.
        put("rgb-premultiplied-8" + name, tiff(SMALL, [8] * 4, RGB, strip(premultiplied, 8), order, extra=[1]), 2 * EIGHT)
        put("rgb-alpha-16" + name, tiff(SMALL, [16] * 4, RGB, strip(deep, 16, order), order, extra=[2]))
        put("rgb-premultiplied-16" + name, tiff(SMALL, [16] * 4, RGB, strip(deep_blend, 16, order), order, extra=[1]), reader="ImageMagick")
    put("rgb-extra-8", tiff(SMALL, [8] * 4, RGB, strip(rgba, 8), extra=[0]))
    put("rgb-extra-unnamed-8", tiff(SMALL, [8] * 4, RGB, strip(rgba, 8)))
    put("rgb-two-extras-8", tiff(SMALL, [8] * 5, RGB, strip(np.dstack([rgba, rgba[..., 0]]), 8), extra=[2, 0]))
    put("grey-alpha-8", tiff(SMALL, [8] * 2, BLACK_IS_ZERO, strip(with_alpha(grey()), 8), extra=[2]))
    put("grey-alpha-16", tiff(SMALL, [16] * 2, BLACK_IS_ZERO, strip(with_alpha(grey(bits=16), 16), 16), extra=[2]))
    put("grey-alpha-one-bits-8", tiff(SMALL, [8], BLACK_IS_ZERO, strip(with_alpha(grey()), 8), samples=2, extra=[2]))
    put("palette-alpha-8", tiff(SMALL, [8] * 2, PALETTE, strip(with_alpha(indexed(100)[0]), 8), extra=[2], t320=("H", [k * 80 for k in range(768)])))
    put("rgb-one-bits-8", tiff(SMALL, [8], RGB, strip(colour(), 8), samples=3))
    put("rgb-uneven", tiff(SMALL, [5, 6, 5], RGB, bytes(12 * 9 * 2)))
    put("rgb-4", tiff(SMALL, [4] * 3, RGB, b"".join(packed(colour(bits=4), 4))))
    put("rgb-float", tiff(SMALL, [32] * 3, RGB, (colour() / 255).astype("<f4").tobytes(), t339=("H", [3] * 3)))
    put("mask-1", gray(bits=1, photometric=MASK))
    put("cmyk-8", saved(Image.fromarray(colour()).convert("CMYK"), "TIFF"))
    put("cmyk-16", tiff(SMALL, [16] * 4, CMYK, strip(deep, 16)))
    put("ycbcr-8", saved(Image.fromarray(colour()).convert("YCbCr"), "TIFF"))
    put("lab-8", saved(lab(), "TIFF"))
    put("icclab-8", tiff(SMALL, [8] * 3, 9, strip(colour(), 8)))
    put("itulab-8", tiff(SMALL, [8] * 3, 10, strip(colour(), 8)))
    put("filter-array-8", tiff(SMALL, [8], 32803, strip(grey(), 8)))
    put("logl-16", tiff(SMALL, [16], 32844, strip(grey(bits=16), 16)))
    put("palette-16", tiff(SMALL, [16], PALETTE, strip(grey(bits=16), 16), t320=("H", [0] * 3 * 65536)))
    put("palette-8-dark-map", tiff(SMALL, [8], PALETTE, strip(indexed(100)[0], 8), t320=("H", [k % 256 for k in range(768)])), EIGHT)


def lab():
    from PIL import ImageCms

    srgb, cie = ImageCms.createProfile("sRGB"), ImageCms.createProfile("LAB")
    return ImageCms.profileToProfile(Image.fromarray(colour()), srgb, cie, outputMode="LAB")


def compressions():
    # Thunderscan, NeXT, SGI's logarithms and others that hardly any program writes
    # any more: the number alone, as a reader must look at it first.
    for code in (0, 6, 9, 10, 32766, 32771, 32809, 32895, 32908, 34661, 34676, 34712, 34887, 50002, 12345):
        put(f"compression-{code}", set_tag(gray(), 259, code))
    for codec in ("packbits", "lzw", "zip", "zstd", "lzma"):
        for kind, base in BASES.items():
            if codec in ("zstd", "lzma") and kind not in ("black-8", "rgb-8", "black-16"):
                continue
            put(f"{codec}-{kind}", tiffcp(base(), "-c", codec, "-r", "4"))
    put("deflate-32946", set_tag(tiffcp(gray(), "-c", "zip"), 259, 32946))
    put("jpeg-black-8", tiffcp(gray(LARGE), "-c", "jpeg", "-r", "16"), ROUNDED)
    put("jpeg-rgb-8", tiffcp(color(LARGE), "-c", "jpeg:r:95"), ROUNDED)
    put("jpeg-ycbcr-8", tiffcp(color(LARGE), "-c", "jpeg"), ROUNDED)
    put("webp-rgb-8", saved(colour(LARGE), "TIFF", compression="webp"), ROUNDED)
    put("pillow-lzw", saved(colour(), "TIFF", compression="tiff_lzw"))
    put("pillow-deflate", saved(colour(), "TIFF", compression="tiff_adobe_deflate"))
    put("pillow-packbits", saved(grey(), "TIFF", compression="packbits"))
    for name in ("None", "LZW", "Zip", "RLE"):
        put(f"magick-{name.lower()}-grey", magick(grey(), "tif", "-compress", name))
        put(f"magick-{name.lower()}-alpha", magick(with_alpha(colour()), "tif", "-compress", name), 2 * EIGHT)
    put("lzw-old", tiff(SMALL, [8], BLACK_IS_ZERO, old_lzw(grey().tobytes()), t259=("H", [5])))


def old_lzw(data):
    """LZW as libtiff once wrote it, the low bits of a byte first. The table is
    cleared before its codes grow."""
    bits, n = 0, 0
    for k, v in enumerate(data):
        if k % 200 == 0:
            bits |= 256 << n
            n += 9
        bits |= v << n
        n += 9
    bits |= 257 << n
    return bits.to_bytes((n + 9 + 7) // 8, "little")


def fax():
    for kind in ("white-1", "black-1"):
        for codec in ("g3:1d", "g3:2d", "g3:1d:fill", "g3:2d:fill", "g4"):
            name = codec.replace(":", "-")
            put(f"{name}-{kind}", tiffcp(BASES[kind](), "-c", codec))
            put(f"{name}-{kind}-lsb", tiffcp(BASES[kind](), "-c", codec, "-f", "lsb2msb"))
        put(f"g4-{kind}-strips", tiffcp(BASES[kind](), "-c", "g4", "-r", "2"))
        put(f"g3-{kind}-strips", tiffcp(BASES[kind](), "-c", "g3", "-r", "2"))
        wide = gray((40, 21), 1, WHITE_IS_ZERO if kind == "white-1" else BLACK_IS_ZERO)
        put(f"g4-{kind}-tiled", tiffcp(wide, "-c", "g4", "-t", "-w", "16", "-l", "16"))
        put(f"g4-{kind}-40", tiffcp(wide, "-c", "g4"))
        put(f"g3-{kind}-40", tiffcp(wide, "-c", "g3"))
        put(f"g4-{kind}-big-endian", tiffcp(BASES[kind](), "-c", "g4", "-B"))
    one = Image.fromarray(bilevel() * 255).convert("1")
    for codec in ("tiff_ccitt", "group3", "group4"):
        put(f"pillow-{codec.replace('_', '-')}", saved(one, "TIFF", compression=codec))
    put("magick-fax", magick(bilevel() * 255, "tif", "-type", "bilevel", "-compress", "Fax"))
    put("magick-group4", magick(bilevel() * 255, "tif", "-type", "bilevel", "-compress", "Group4"))
    put("g4-black-1-turned", set_tag(tiffcp(gray(bits=1, t274=("H", [6])), "-c", "g4"), 274, 6))
    put("g4-8-bits", set_tag(tiffcp(gray(bits=1), "-c", "g4"), 258, 8))


def orders():
    for kind in ("black-1", "black-8", "black-16", "rgb-8"):
        for codec in ("none", "lzw", "packbits", "zip"):
            put(f"{codec}-{kind}-lsb", tiffcp(BASES[kind](), "-c", codec, "-f", "lsb2msb"))
    for order, name in (("<", ""), (">", "-big-endian")):
        put("bigtiff-black-8" + name, gray(order=order, big=True), source=grey() / 255 * 65535 if name else None)
        put("bigtiff-rgb-16" + name, color(bits=16, order=order, big=True))
    put("bigtiff-lzw", tiffcp(gray(), "-8", "-c", "lzw"))


def predictors():
    for codec in ("lzw", "zip"):
        for kind, base in BASES.items():
            if kind.endswith("-1"):
                continue
            put(f"{codec}-{kind}-predictor", tiffcp(base(), "-c", codec + ":2", "-r", "4"))
            put(f"{codec}-{kind}-predictor-big-endian", tiffcp(base(order=">"), "-c", codec + ":2", "-B"))
    floats = tiff(SMALL, [32], BLACK_IS_ZERO, (grey() / 255).astype("<f4").tobytes(), t339=("H", [3]))
    put("zip-float-predictor-3", tiffcp(floats, "-c", "zip:3"))
    alpha8 = tiff(SMALL, [8] * 4, RGB, strip(with_alpha(colour()), 8), extra=[2])
    put("lzw-rgb-alpha-8-predictor", tiffcp(alpha8, "-c", "lzw:2"))
    # The tag belongs to LZW and Deflate: without them it means nothing.
    put("predictor-without-compression", gray(t317=("H", [2])))
    put("predictor-with-packbits", tiffcp(gray(t317=("H", [2])), "-c", "packbits"))
    put("predictor-9", gray(t317=("H", [9]), t259=("H", [5])))


def planes():
    for bits in (8, 16):
        apart = [strip(colour(bits=bits)[..., k], bits) for k in range(3)]
        put(f"rgb-{bits}-separate", tiff(SMALL, [bits] * 3, RGB, apart, t284=("H", [2])))
    put("rgb-8-separate-lzw", tiffcp(color(), "-p", "separate", "-c", "lzw:2"))
    put("rgb-8-separate-tiled", tiffcp(color(LARGE), "-p", "separate", "-t", "-w", "16", "-l", "16"))
    put("black-8-separate", gray(t284=("H", [2])))
    put("black-8-planes-3", gray(t284=("H", [3])))
    for kind, pixels in (("black-8", gray(LARGE)), ("black-16", gray(LARGE, 16)), ("rgb-8", color(LARGE)), ("rgb-16", color(LARGE, 16)), ("black-1", gray(LARGE, 1)), ("palette-8", mapped(LARGE))):
        for codec in ("none", "lzw", "zip"):
            put(f"{codec}-{kind}-tiled", tiffcp(pixels, "-c", codec, "-t", "-w", "16", "-l", "16"))
    put("lzw-rgb-8-tiled-predictor", tiffcp(color(LARGE), "-c", "lzw:2", "-t", "-w", "16", "-l", "16"))
    put("zip-rgb-16-tiled-predictor", tiffcp(color(LARGE, 16), "-c", "zip:2", "-t", "-w", "16", "-l", "16"))
    put("jpeg-tiled", tiffcp(color(LARGE), "-c", "jpeg", "-t", "-w", "16", "-l", "16"), ROUNDED)
    put("tiles-2048", tiffcp(gray(), "-c", "zip", "-t", "-w", "2048", "-l", "2048"))
    put("strips-1", tiffcp(gray(), "-r", "1"))
    put("strips-of-many", gray(t278=("I", [2**32 - 1])))


def pages():
    first, second = Image.fromarray(grey()), Image.fromarray(255 - grey())
    put("two-pages", saved(first, "TIFF", save_all=True, append_images=[second]))
    put("preview-first", gray(t254=("I", [1])))
    put("dng", gray(t50706=("B", [1, 4, 0, 0])))


def orientations():
    for k in range(1, 9):
        put(f"orientation-{k}", gray(t274=("H", [k]), order="<>"[k % 2]))
        put(f"orientation-{k}-rgb-16", color(bits=16, t274=("H", [k])))
    put("orientation-0", gray(t274=("H", [0])))
    put("orientation-9", gray(t274=("H", [9])))
    put("orientation-6-tiled", set_tag(tiffcp(gray(LARGE, t274=("H", [6])), "-t", "-w", "16", "-l", "16"), 274, 6))


def damaged_or_strange():
    put("unsorted", unsorted(gray()))
    put("no-counts", gray(t279=("I", None)))
    put("no-photometric", gray(t262=("H", None)))


def unsorted(data):
    """The first two entries of the directory exchanged."""
    at = struct.unpack("<I", data[4:8])[0] + 2
    return data[:at] + data[at + 12 : at + 24] + data[at : at + 12] + data[at + 24 :]
