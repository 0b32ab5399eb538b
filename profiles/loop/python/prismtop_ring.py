"""The file in shared memory through which a loop and prismtop talk, as FORMAT.md describes it: the loop's side, without PyTorch."""
import array
import mmap
import os
import struct
import time
import zlib

MAGIC, FORMAT, RECORD, SLOTS, DATA = b"PRSMLOOP", 2, 576, 4096, 65536
GREETING, SETTINGS, HALF = 4096, 32768, 16384
STEP, CACHES, MEMORY, TEXT, ANSWER, UNIT, LAYER, PICTURE, COSTS, RUN = 1, 2, 3, 4, 5, 6, 8, 9, 10, 11
TIMED = 15  # computations of a cache of which a record tells
PREPARING, TRAINING, OVER, FAILED, STOPPED = 1, 2, 3, 4, 5
SKIPPED, SETTLING, EVALUATION, FIRST, THIN, GIVEN_UP, COMPILED, NONFINITE, FORKED, SLOWED = (1 << i for i in range(10))
DONE, PARTLY, NOT_UNDERSTOOD, LEASE_OVER, SCHEDULE_OVER, KEPT, RETURNED, DROPPED, READY, CANCELLED = range(10)
NO_BLOCK = 0xFFFFFFFF

now = time.monotonic_ns


class Ring:
    """The file in shared memory. One thread writes; publishing copies a record and makes no system call."""

    def __init__(self, folder, rank, world):
        os.makedirs(folder, mode=0o700, exist_ok=True)
        owner = os.stat(folder)
        if owner.st_uid != os.getuid() or owner.st_mode & 0o077:
            raise PermissionError(f"{folder} must belong to this user alone (mode 700)")
        size = DATA + SLOTS * RECORD
        base = os.path.join(folder, f"{os.getpid()}-rank{rank}")
        self.path = next(p for p in (f"{base}-{n}.ring" if n else f"{base}.ring" for n in range(1000)) if not os.path.lexists(p))
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(fd, 0, size)  # a full disk is an error here, not SIGBUS later
            else:
                os.write(fd, bytes(size))
            self.map = mmap.mmap(fd, size, flags=mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0))
        except BaseException:
            os.unlink(self.path)
            raise
        finally:
            os.close(fd)
        self.bytes = memoryview(self.map)
        self.words = self.bytes.cast("Q")
        struct.pack_into("<IIIIqqii", self.map, 8, FORMAT, RECORD, SLOTS, os.getpid(), time.time_ns() - now(), started(), rank, world)
        self.scratch = bytearray(RECORD)  # the step being measured
        self.q = memoryview(self.scratch).cast("q")
        self.d = memoryview(self.scratch).cast("d")
        self.body = memoryview(self.scratch)[:568]
        self.other = bytearray(RECORD)  # any other record
        self.made = now()
        self.written = 0
        self.seen = 0  # generation of settings
        self.state(PREPARING)
        self.map[0:8] = MAGIC

    def state(self, state):
        self.words[7] = state

    def greet(self, doc):
        import json
        text = json.dumps(doc).encode()
        if len(text) > SETTINGS - GREETING:
            for entry in doc["knobs"] + doc["phases"]:
                entry.update({key: "" for key in ("help", "what") if key in entry})
            text = json.dumps(doc).encode()
        if len(text) > SETTINGS - GREETING:
            raise ValueError("the greeting is longer than 28 KiB")
        self.map[GREETING:GREETING + len(text)] = text
        struct.pack_into("<II", self.map, 72, len(text), zlib.crc32(text))
        self.words[8] += 1

    def publish(self, record):
        """Copies a record into the next slot, over the oldest."""
        n = self.written
        self.written = n + 1
        q, body = (self.q, self.body) if record is self.scratch else (memoryview(record).cast("q"), memoryview(record)[:568])
        q[0] = n + 1
        q[71] = zlib.crc32(body)
        at = DATA + n % SLOTS * RECORD
        self.bytes[at:at + RECORD] = record
        self.words[6] = n + 1

    def put(self, kind, step, at, fields=(), text=""):
        """Publishes a record that is no step: fields are pairs of a format and (offset, values)."""
        r = self.other
        r[:] = bytes(RECORD)
        struct.pack_into("<B", r, 8, kind)
        struct.pack_into("<qq", r, 16, step, at)
        for form, offset, *values in fields:
            struct.pack_into("<" + form, r, offset, *values)
        if text:
            raw = text.encode("utf-8", "replace")[:504].decode("utf-8", "ignore").encode()
            r[64:64 + len(raw)] = raw
            struct.pack_into("<I", r, {TEXT: 48, ANSWER: 52, LAYER: 60}[kind], len(raw))
        self.publish(r)

    def settings(self):
        """The newest settings and their generation; None while they are being written."""
        generation = self.words[16]
        length, crc = struct.unpack_from("<II", self.map, 136)
        at = SETTINGS + (generation & 1) * HALF
        text = bytes(self.bytes[at:at + min(length, HALF)])
        if length > HALF or zlib.crc32(text) != crc or self.words[16] != generation:
            return None
        self.seen = generation
        return generation, text

    def watched(self, within=5_000_000_000):
        """Whether the reader was alive that recently."""
        return now() - self.words[18] < within


def started():
    """The start of this process in clock ticks, by which a pid that is used again is told from this one."""
    try:
        with open("/proc/self/stat") as f:
            return int(f.read().rsplit(")", 1)[1].split()[19])
    except (OSError, ValueError, IndexError):
        return 0


def within(text, most=32):
    """Text of so many bytes at most, those of a name unless told, as a greeting may have it."""
    return str(text).encode("utf-8", "replace")[:most].decode("utf-8", "ignore")


def series(name):
    """What a logged value is, by its name."""
    less, more = ("loss", "err", "mse", "mae", "rmse", "nll", "perplexity"), ("psnr", "acc", "ssim", "iou", "dice", "f1", "auc", "score", "reward")
    better = "less" if any(w in name for w in less) else "more" if any(w in name for w in more) else ""
    return {"name": name, "title": "PSNR" if name == "psnr_db" else name, "unit": "dB" if "psnr" in name else "MB" if name.endswith("_mb") else "", "better": better,
            "group": "losses" if "loss" in name else "" if name.startswith("gpu_") else "metrics", "each": False}


def identifier(text):
    return "".join(c if c.isascii() and c.isalnum() else "_" for c in str(text).lower())[:32]


def grey(array_):
    """Pixels as float32 with width and height, from a tensor, an array of numpy's, or nested lists."""
    if hasattr(array_, "detach"):
        array_ = array_.detach().to("cpu").float()
    while len(getattr(array_, "shape", ())) > 3:
        array_ = array_[0]
    if len(getattr(array_, "shape", ())) == 3:
        array_ = array_.mean(0 if array_.shape[0] <= array_.shape[2] else 2)
    rows = array_.tolist() if hasattr(array_, "tolist") else [list(row) for row in array_]
    return array.array("f", [x for row in rows for x in row]), len(rows[0]), len(rows)


def check_values(key, values, value, compared, price):
    """Raises ValueError for a knob that no greeting may have. values are None for a number."""
    if values is not None and (not 1 <= len(values) <= 16 or any(len(v.encode()) > 200 for v in values)):
        raise ValueError(f"{key}: must have 1 to 16 values, of 200 bytes at most")
    if values is not None and not {value, *compared} <= set(values):
        raise ValueError(f"{key}: the value in force, and those compared, must be among its values")
    if compared and (len(compared) != 2 or compared[0] == compared[1]):
        raise ValueError(f"{key}: two different values are compared")
    if compared and values is None and price != "cheap":
        raise ValueError(f"{key}: values of a number are compared only if price is cheap")
