"""GIF: palettes, transparency, interlacing, frames off the corner, animation."""

import struct

import numpy as np
from PIL import Image

from common import *


def gif(screen, frame, palette, index, version=b"89a", background=0, transparent=None, interlaced=False, local=False):
    """A GIF of one frame, x, y from the corner. Its LZW code is cleared before it
    grows, which needs no table."""
    bits = max(1, int(np.ceil(np.log2(len(palette)))))
    table = palette.tobytes().ljust(3 * 2**bits, b"\0")
    flags = 0 if local else 0x80 | bits - 1
    out = b"GIF" + version + struct.pack("<HHBBB", *screen, flags, background, 0) + (b"" if local else table)
    if transparent is not None:
        out += struct.pack("<BBBBHBB", 0x21, 0xF9, 4, 1, 0, transparent, 0)
    h, w = index.shape
    flags = (0x80 | bits - 1 if local else 0) | (0x40 if interlaced else 0)
    out += struct.pack("<BHHHHB", 0x2C, *frame, w, h, flags) + (table if local else b"")
    if interlaced:
        order = [*range(0, h, 8), *range(4, h, 8), *range(2, h, 4), *range(1, h, 2)]
        index = index[order]
    width = max(2, bits)
    return out + bytes([width]) + blocks(codes(index.reshape(-1), width)) + b"\0;"


def codes(index, width):
    clear, bits, n = 1 << width, 0, 0
    for k, v in enumerate(index):
        if k % (clear - 2) == 0:
            bits |= clear << n
            n += width + 1
        bits |= int(v) << n
        n += width + 1
    bits |= (clear + 1) << n
    return bits.to_bytes((n + width + 8) // 8, "little")


def blocks(data):
    return b"".join(bytes([len(data[k : k + 255])]) + data[k : k + 255] for k in range(0, len(data), 255))


def pictures():
    for colours in (2, 3, 4, 16, 100, 256):
        im = paletted(colours)
        add(f"gif/palette-{colours}.gif", saved(im, "GIF"))
        add(f"gif/palette-{colours}-interlaced.gif", magick(saved(im, "PNG"), "gif", "-interlace", "GIF"))
        add(f"gif/palette-{colours}-transparent.gif", saved(im, "GIF", transparency=1))
    add("gif/grey.gif", saved(grey(), "GIF"))
    add("gif/grey-magick.gif", magick(grey(), "gif"))
    add("gif/bilevel.gif", saved(bilevel() * 255, "GIF"))
    index, palette = indexed(16)
    add("gif/87a.gif", gif(SMALL, (0, 0), palette, index, version=b"87a"))
    add("gif/local-palette.gif", gif(SMALL, (0, 0), palette, index, local=True))
    add("gif/interlaced.gif", gif(SMALL, (0, 0), palette, index, interlaced=True))
    add("gif/one-column.gif", gif((1, 9), (0, 0), palette, index[:, :1]))
    screen = (17, 15)
    add("gif/offset.gif", gif(screen, (3, 4), palette, index))
    add("gif/offset-transparent.gif", gif(screen, (3, 4), palette, index, transparent=5))
    add("gif/offset-interlaced.gif", gif(screen, (3, 4), palette, index, interlaced=True, transparent=2))
    add("gif/offset-local.gif", gif(screen, (3, 4), palette, index, local=True))
    bright = np.roll(palette, -3, axis=0)
    add("gif/offset-bright.gif", gif(screen, (3, 4), bright, index))
    add("gif/offset-magick.gif", magick(saved(paletted(16), "PNG"), "gif", "-repage", "17x15+3+4"))
    add("gif/offset-magick-transparent.gif", magick(with_alpha(colour()), "gif", "-repage", "17x15+3+4"))
    frames = [Image.fromarray(grey()), Image.fromarray(255 - grey())]
    add("gif/animated.gif", saved(frames[0], "GIF", save_all=True, append_images=frames[1:]))
    before, after = folder / "first.png", folder / "second.png"
    before.write_bytes(saved(paletted(16), "PNG"))
    after.write_bytes(saved(grey((5, 4)), "PNG"))
    out = folder / "frames.gif"
    run("convert", "-dispose", "previous", "-delay", "10", before, "-page", "+2+3", after, out)
    add("gif/animated-magick.gif", out.read_bytes())
    add("gif/no-palette.gif", b"GIF89a" + struct.pack("<HHBBB", 12, 9, 0, 0, 0)
        + struct.pack("<BHHHHB", 0x2C, 0, 0, 12, 9, 0) + b"\x04" + blocks(codes(index.reshape(-1), 4)) + b"\0;")
