"""BMP: depths, run lengths, directions, headers and masks."""

import struct

import numpy as np
from PIL import Image

from common import *

V3, V4, V5 = 40, 108, 124


def bmp(pixels, bits, palette=b"", header=V3, compression=0, masks=(), down=False, gap=0, data=None, used=None, core=False):
    """pixels are rows of bytes, from the top."""
    rows = [r + bytes(-len(r) % 4) for r in pixels]
    if data is None:
        data = b"".join(rows if down else rows[::-1])
    w, h = SMALL
    if core:
        info = struct.pack("<IHHHH", 12, w, h, 1, bits)
    else:
        used = len(palette) // 4 if used is None else used
        info = struct.pack("<IiiHHIIiiII", header, w, -h if down else h, 1, bits, compression, len(data), 2835, 2835, used, 0)
        info += b"".join(struct.pack("<I", m) for m in masks)
        if header > V3:
            info = (info.ljust(56, b"\0") + b"BGRs").ljust(header, b"\0")
    offset = 14 + len(info) + len(palette) + gap
    return b"BM" + struct.pack("<IHHI", offset + len(data), 0, 0, offset) + info + palette + bytes(gap) + data


def quads(palette, fill=0):
    return b"".join(bytes([b, g, r, fill]) for r, g, b in palette)


def rle8(index):
    """Runs of a kind where they are, single pixels as runs of one."""
    out = b""
    for row in index[::-1]:
        k = 0
        while k < len(row):
            n = 1
            while k + n < len(row) and row[k + n] == row[k]:
                n += 1
            out += bytes([n, row[k]])
            k += n
        out += b"\0\0"
    return out[:-2] + b"\0\1"


def rle4(index):
    out = b""
    for row in index[::-1]:
        for v in row:
            out += bytes([1, v << 4])
        out += b"\0\0"
    return out[:-2] + b"\0\1"


def words(pixels, shifts, kind="<u2"):
    """Rows of 16- or 32-bit words; shifts are (bits, position) of each channel."""
    v = np.zeros(pixels.shape[:2], np.uint32)
    for k, (bits, at) in enumerate(shifts):
        v |= (pixels[:, :, k].astype(np.uint32) >> (8 - bits)) << at
    return [r.astype(kind).tobytes() for r in v]


def pictures():
    for bits in (1, 2, 4, 8):
        index, palette = indexed(min(2**bits, 200))
        rows, table = packed(index, bits), quads(palette)
        # Neither reader knows 2 bits.
        source = luma(np.dstack([palette[index] / 255, np.ones_like(index)])) if bits == 2 else None
        full = quads(np.vstack([palette, np.zeros((2**bits - len(palette), 3), np.uint8)]))
        add(f"bmp/palette-{bits}.bmp", bmp(rows, bits, full, used=0), source=source)
        add(f"bmp/palette-{bits}-down.bmp", bmp(rows, bits, table, down=True), source=source)
        add(f"bmp/palette-{bits}-few.bmp", bmp(rows, bits, table), source=source)
    index, palette = indexed(16)
    add("bmp/palette-4-v5.bmp", bmp(packed(index, 4), 4, quads(palette), V5))
    add("bmp/palette-8-reserved.bmp", bmp(packed(index, 8), 8, quads(palette, 77)))
    add("bmp/palette-8-gap.bmp", bmp(packed(index, 8), 8, quads(palette), gap=6))
    add("bmp/palette-8-os2.bmp", bmp(packed(index, 8), 8, palette[:, ::-1].tobytes() + bytes(3 * 240), core=True))
    add("bmp/rgb-24-os2.bmp", bmp([r[:, ::-1].tobytes() for r in colour()], 24, core=True))
    add("bmp/rle-8.bmp", bmp([], 8, quads(palette), compression=1, data=rle8(index)))
    add("bmp/rle-4.bmp", bmp([], 4, quads(palette), compression=2, data=rle4(index)))
    add("bmp/rle-8-magick.bmp", magick(saved(paletted(16), "PNG"), "bmp3:bmp", "-compress", "RLE"))
    add("bmp/grey-8.bmp", saved(grey(), "BMP"))
    add("bmp/bilevel.bmp", saved(Image.fromarray(bilevel() * 255).convert("1"), "BMP"))
    for name, header in (("v3", V3), ("v4", V4), ("v5", V5)):
        add(f"bmp/rgb-24-{name}.bmp", bmp([r[:, ::-1].tobytes() for r in colour()], 24, header=header))
    add("bmp/rgb-24-down.bmp", bmp([r[:, ::-1].tobytes() for r in colour()], 24, down=True))
    add("bmp/rgb-24-gap.bmp", bmp([r[:, ::-1].tobytes() for r in colour()], 24, gap=10))
    add("bmp/rgb-24-magick.bmp", magick(colour(), "bmp"))
    add("bmp/rgb-24-magick3.bmp", magick(colour(), "bmp3:bmp"))
    add("bmp/rgba-32-magick.bmp", magick(with_alpha(colour()), "bmp"))
    add("bmp/rgba-32-pillow.bmp", saved(with_alpha(colour()), "BMP"))
    bgr = [(8, 16), (8, 8), (8, 0)]
    opaque = words(colour(), bgr, "<u4")
    for name, header in (("v3", V3), ("v4", V4), ("v5", V5)):
        # The fourth byte is unused without a mask that says otherwise.
        add(f"bmp/rgb-32-{name}.bmp", bmp(opaque, 32, header=header))
    blend = words(with_alpha(colour()), bgr + [(8, 24)], "<u4")
    add("bmp/rgb-32-v3-fourth.bmp", bmp(blend, 32))
    standard = (0xFF0000, 0xFF00, 0xFF, 0xFF000000)
    for name, header in (("v4", V4), ("v5", V5)):
        add(f"bmp/rgba-32-{name}.bmp", bmp(blend, 32, header=header, compression=3, masks=standard))
        add(f"bmp/rgba-32-{name}-no-bitfields.bmp", bmp(blend, 32, header=header, masks=standard))
        add(f"bmp/rgb-32-{name}-no-alpha-mask.bmp", bmp(opaque, 32, header=header, compression=3, masks=standard[:3]))
    add("bmp/rgba-32-v5-down.bmp", bmp(blend, 32, header=V5, compression=3, masks=standard, down=True))
    add("bmp/rgb-32-v3-bitfields.bmp", bmp(opaque, 32, compression=3, masks=standard[:3]))
    swapped = words(with_alpha(colour()), [(8, 0), (8, 8), (8, 16), (8, 24)], "<u4")
    add("bmp/rgba-32-v4-swapped.bmp", bmp(swapped, 32, header=V4, compression=3, masks=(0xFF, 0xFF00, 0xFF0000, 0xFF000000)))
    add("bmp/rgb-16.bmp", bmp(words(colour(), [(5, 10), (5, 5), (5, 0)]), 16), EIGHT)
    add("bmp/rgb-16-565.bmp", bmp(words(colour(), [(5, 11), (6, 5), (5, 0)]), 16, compression=3, masks=(0xF800, 0x7E0, 0x1F)), EIGHT)
    add("bmp/rgb-16-565-magick.bmp", magick(colour(), "bmp", "-define", "bmp:subtype=RGB565"), EIGHT)
    png = saved(colour(), "PNG")
    add("bmp/png-inside.bmp", bmp([], 0, compression=5, data=png))
