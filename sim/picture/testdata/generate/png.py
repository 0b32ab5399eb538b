"""PNG: colour types, depths, interlacing, transparency, gamma, orientation."""

import struct

import numpy as np
from PIL import Image

from common import *


def pictures():
    for bits in (1, 2, 4, 8, 16):
        v = grey(bits=bits)
        rows = packed(v, bits)
        add(f"png/grey-{bits}.png", raw_png(SMALL, bits, 0, rows))
        trns = struct.pack(">H", 2**bits - 1)
        # Pillow finds a transparent grey only in 8 bits.
        reader = "Pillow" if bits == 8 else "ImageMagick"
        add(f"png/grey-{bits}-transparent.png", raw_png(SMALL, bits, 0, rows, (b"tRNS", trns)), reader=reader)
        add(f"png/grey-{bits}-interlaced.png", magick(raw_png(SMALL, bits, 0, rows), "png", "-interlace", "PNG",
            "-define", f"png:bit-depth={bits}", "-define", "png:color-type=0"))
    for bits, reader in ((8, "Pillow"), (16, "ImageMagick")):
        add(f"png/grey-alpha-{bits}.png", raw_png(SMALL, bits, 4, packed(with_alpha(grey(bits=bits), bits), bits)), reader=reader)
        add(f"png/rgb-{bits}.png", raw_png(SMALL, bits, 2, packed(colour(bits=bits), bits)), reader=reader)
        add(f"png/rgba-{bits}.png", raw_png(SMALL, bits, 6, packed(with_alpha(colour(bits=bits), bits), bits)), reader=reader)
        trns = struct.pack(">3H", *map(int, colour(bits=bits)[2, 2]))
        add(f"png/rgb-{bits}-transparent.png", raw_png(SMALL, bits, 2, packed(colour(bits=bits), bits), (b"tRNS", trns)), reader=reader)
    for bits in (1, 2, 4, 8):
        index, palette = indexed(min(2**bits, 100))
        plte = (b"PLTE", palette.tobytes())
        rows = packed(index, bits)
        add(f"png/palette-{bits}.png", raw_png(SMALL, bits, 3, rows, plte))
        trns = bytes((255 - 90 * k) % 256 for k in range(min(len(palette), 7)))
        add(f"png/palette-{bits}-transparent.png", raw_png(SMALL, bits, 3, rows, plte, (b"tRNS", trns)))
    for name, pixels in (("rgb", colour()), ("rgba", with_alpha(colour()))):
        add(f"png/{name}-interlaced.png", magick(pixels, "png", "-interlace", "PNG"))
    add("png/palette-interlaced.png", magick(saved(paletted(16), "PNG"), "png", "-interlace", "PNG"))
    # Samples count, not the light that they stand for on a screen.
    for name, gamma in (("0.45455", 45455), ("1.0", 100000)):
        add(f"png/gamma-{name}.png", with_chunk(saved(grey(), "PNG"), b"gAMA", struct.pack(">I", gamma)))
    add("png/srgb.png", with_chunk(saved(colour(), "PNG"), b"sRGB", b"\0"))
    for k in range(1, 9):
        add(f"png/exif-{k}.png", with_chunk(saved(grey(), "PNG"), b"eXIf", exif(k, "<>"[k % 2])))
    add("png/exif-6-last.png", with_chunk(saved(colour(), "PNG"), b"eXIf", exif(6), last=True))
    add("png/exif-6-interlaced.png", with_chunk(magick(colour(), "png", "-interlace", "PNG"), b"eXIf", exif(6)))
    add("png/exif-0.png", with_chunk(saved(grey(), "PNG"), b"eXIf", exif(0)))
    add("png/exif-9.png", with_chunk(saved(grey(), "PNG"), b"eXIf", exif(9)))
    plain = saved(grey(), "PNG")
    add("png/apple.png", plain[:8] + png_chunk(b"CgBI", b"\x50\0\x20\2") + plain[8:])
    frames = [Image.fromarray(grey()), Image.fromarray(255 - grey())]
    add("png/animated.png", saved(frames[0], "PNG", save_all=True, append_images=frames[1:]))
