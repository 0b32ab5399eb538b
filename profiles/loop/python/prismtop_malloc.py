"""glibc's malloc: whether it keeps the memory that a program frees, or gives it back to the kernel.

It gives back what is free at the end of its heap beyond a threshold, which follows the largest block that the program freed, and
maps larger blocks one by one. A training that frees its activations in each step so takes fresh pages in the next one. Where
they come to lie differs from process to process, and with it the time of a step.
"""
import os
import threading

TRIM_THRESHOLD, MMAP_MAX = -1, -4  # of mallopt()
LEAST, MOST, MAPPINGS = 128 << 10, 32 << 20, 65536  # of the size from which blocks are mapped, and of their number, as glibc has them
PAGE = os.sysconf("SC_PAGESIZE") if hasattr(os, "sysconf") else 4096
PARAMETERS = ["TRIM_THRESHOLD", "TOP_PAD", "MMAP_MAX", "MMAP_THRESHOLD"]

kept = False  # from the program's start
trim = None  # malloc's own threshold, once another was set


def find():
    """glibc, if malloc is its own."""
    try:
        import ctypes
        size, own, used = ctypes.c_size_t, ctypes.CDLL("libc.so.6"), ctypes.CDLL(None)
        if not os.confstr("CS_GNU_LIBC_VERSION").startswith("glibc") or ctypes.cast(own.malloc, ctypes.c_void_p).value != ctypes.cast(used.malloc, ctypes.c_void_p).value:
            return None
        own.malloc.argtypes, own.malloc.restype, own.free.argtypes, own.free.restype = [size], ctypes.c_void_p, [ctypes.c_void_p], None
        own.size_before = lambda p: size.from_address(p - ctypes.sizeof(size)).value
        return own
    except Exception:  # another system, another libc, no ctypes
        return None


LIBC = find()


def why():
    """Why malloc cannot be told what to keep, empty if it can."""
    tunables = os.environ.get("GLIBC_TUNABLES", "")
    if kept:
        return "memory is kept from the program's start (--keep-memory)"
    if LIBC is None:
        return "the program's malloc is not glibc's"
    if any(f"MALLOC_{p}_" in os.environ or f"glibc.malloc.{p.lower()}=" in tunables for p in PARAMETERS):
        return "the program's environment sets malloc's thresholds"
    return ""


def begin():
    """Keeps memory from the program's start, unless it has other wishes; whether it does."""
    global kept
    if not why():
        LIBC.mallopt(TRIM_THRESHOLD, -1)
        LIBC.mallopt(MMAP_MAX, 0)
        kept = True
    return kept


def keep(on):
    """Keeps memory from now on, or goes back to the thresholds at which malloc had arrived."""
    global trim
    if on:
        LIBC.mallopt(TRIM_THRESHOLD, -1)  # from the first such call on, malloc adjusts no threshold any more
        if trim is None:
            size = threshold()
            trim = 2 * size if size > LEAST else LEAST  # glibc's rule
        LIBC.mallopt(MMAP_MAX, 0)
    elif trim is not None:
        LIBC.mallopt(TRIM_THRESHOLD, trim)
        LIBC.mallopt(MMAP_MAX, MAPPINGS)


def threshold():
    """The size from which malloc maps blocks one by one, found by asking for blocks that nothing free could hold."""
    found = []

    def search():  # a thread has a heap of its own, with little in it: what an ended one has left there is taken first
        blocks = [LIBC.malloc(LEAST - PAGE) for _ in range(2 * MOST // LEAST + 100)]
        low, high = LEAST // PAGE, MOST // PAGE
        while low < high:
            middle = (low + high) // 2
            blocks.append(LIBC.malloc(middle * PAGE - 16))  # with its head, this many pages
            low, high = (low, middle) if LIBC.size_before(blocks[-1]) & 2 else (middle + 1, high)  # the bit of a mapped block
        for p in blocks:
            LIBC.free(p)
        found.append(low * PAGE)

    thread = threading.Thread(target=search)
    thread.start()
    thread.join()
    return found[0]
