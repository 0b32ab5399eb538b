"""WebP: lossy and lossless, alpha, animation, orientation."""

import struct

import numpy as np
from PIL import Image

from common import *

ROUNDED = EIGHT


def cwebp(pixels, *options):
    before, after = folder / "in.png", folder / "out.webp"
    before.write_bytes(saved(pixels, "PNG"))
    run("cwebp", "-quiet", *options, before, "-o", after)
    return after.read_bytes()


def chunk(kind, body):
    return kind + struct.pack("<I", len(body)) + body + bytes(len(body) % 2)


def riff(*chunks):
    body = b"WEBP" + b"".join(chunks)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def extended(data, flags, before=(), after=()):
    """A file of one image chunk as one of the extended format."""
    w, h = Image.open(io.BytesIO(data)).size
    head = struct.pack("<B3x", flags) + struct.pack("<I", w - 1)[:3] + struct.pack("<I", h - 1)[:3]
    return riff(chunk(b"VP8X", head), *before, data[12:], *after)


def pictures():
    flat = np.dstack([grey(LARGE)] * 3)
    for quality in (20, 60, 95):
        add(f"webp/lossy-{quality}.webp", cwebp(smooth(), "-q", quality), ROUNDED)
    for size in ((1, 1), (2, 3), (12, 9), (16, 16), (17, 33)):
        add(f"webp/lossy-{size[0]}x{size[1]}.webp", cwebp(smooth(size) if min(size) > 1 else np.full((1, 1, 3), 90, np.uint8), "-q", 90), ROUNDED)
    add("webp/lossy-grey.webp", cwebp(flat, "-q", 95), ROUNDED)
    add("webp/lossy-black-and-white.webp", cwebp(np.dstack([bilevel((32, 32)) * 255] * 3), "-q", 100), ROUNDED)
    add("webp/lossy-black.webp", cwebp(np.zeros((9, 12, 3), np.uint8), "-q", 100), ROUNDED)
    add("webp/lossy-white.webp", cwebp(np.full((9, 12, 3), 255, np.uint8), "-q", 100), ROUNDED)
    add("webp/lossy-pillow.webp", saved(smooth(), "WEBP", quality=80), ROUNDED)
    add("webp/lossy-segments.webp", cwebp(smooth((40, 24)), "-q", 30, "-segments", 4, "-sns", 100, "-f", 60), ROUNDED)
    add("webp/lossy-partitions.webp", cwebp(smooth((40, 24)), "-q", 70, "-partition_limit", 50), ROUNDED)
    add("webp/lossy-simple-filter.webp", cwebp(smooth(), "-q", 40, "-nostrong", "-f", 80), ROUNDED)
    sharp = cwebp(smooth(), "-q", 80, "-sharp_yuv")
    add("webp/lossy-sharp.webp", sharp, ROUNDED)
    for size in (SMALL, LARGE):
        add(f"webp/lossy-saturated-{size[0]}.webp", cwebp(colour(size), "-q", 90), ROUNDED)
    blend = with_alpha(smooth())
    for name, options in (("", ()), ("-none", ("-alpha_method", 0)), ("-fast", ("-alpha_filter", "fast")), ("-best", ("-alpha_filter", "best")), ("-coarse", ("-alpha_q", 20))):
        add(f"webp/lossy-alpha{name}.webp", cwebp(blend, "-q", 90, *options), ROUNDED)
    add("webp/lossless-grey.webp", cwebp(grey(), "-lossless"))
    add("webp/lossless-colour.webp", cwebp(colour(LARGE), "-lossless"))
    add("webp/lossless-alpha.webp", cwebp(with_alpha(colour(LARGE)), "-lossless", "-exact"))
    add("webp/lossless-alpha-cleared.webp", cwebp(with_alpha(colour()), "-lossless"))
    add("webp/lossless-palette-2.webp", cwebp(np.asarray(paletted(2, LARGE).convert("RGB")), "-lossless"))
    add("webp/lossless-palette-16.webp", cwebp(np.asarray(paletted(16, LARGE).convert("RGB")), "-lossless"))
    add("webp/lossless-palette-256.webp", cwebp(np.asarray(paletted(256, (32, 32)).convert("RGB")), "-lossless"))
    add("webp/lossless-z0.webp", cwebp(colour(LARGE), "-lossless", "-z", 0))
    add("webp/lossless-z9.webp", cwebp(smooth((40, 24)), "-lossless", "-z", 9))
    add("webp/lossless-near.webp", cwebp(smooth(), "-near_lossless", 40))
    add("webp/lossless-pillow.webp", saved(colour(), "WEBP", lossless=True))
    add("webp/lossless-1x1.webp", cwebp(np.full((1, 1, 3), 90, np.uint8), "-lossless"))
    lossy, lossless = cwebp(smooth(), "-q", 90), cwebp(colour(), "-lossless")
    for k in range(1, 9):
        upright = cwebp(grey(), "-lossless") if k % 2 else cwebp(smooth(), "-q", 90)
        add(f"webp/exif-{k}.webp", extended(upright, 8, after=[chunk(b"EXIF", exif(k, "<>"[k % 2]))]), ROUNDED)
    add("webp/exif-6-prefixed.webp", extended(lossless, 8, after=[chunk(b"EXIF", exif(6, prefix=b"Exif\0\0"))]))
    add("webp/exif-6-pillow.webp", saved(smooth(), "WEBP", exif=b"Exif\0\0" + exif(6), quality=90), ROUNDED)
    add("webp/profile.webp", extended(lossy, 0x20, before=[chunk(b"ICCP", bytes(128))]), ROUNDED)
    add("webp/extended.webp", extended(lossless, 0))
    opaque_frame = cwebp(smooth(), "-q", 90)
    add("webp/alpha-promised.webp", extended(opaque_frame, 0x10), ROUNDED)
    add("webp/alpha-denied.webp", extended(opaque_frame, 0, before=[chunk(b"ALPH", b"\0" + alpha(LARGE).tobytes())]), ROUNDED)
    frames = [Image.fromarray(smooth()), Image.fromarray(255 - smooth())]
    add("webp/animated.webp", saved(frames[0], "WEBP", save_all=True, append_images=frames[1:], quality=90), ROUNDED)
    add("webp/animated-lossless.webp", saved(frames[0], "WEBP", save_all=True, append_images=frames[1:], lossless=True))
