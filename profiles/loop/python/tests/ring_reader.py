"""A reader of rings for the tests: what prismtop does in Go."""
import collections
import json
import math
import mmap
import os
import struct
import time
import zlib

Step = collections.namedtuple("Step", "number kind flags passes backwards step start total generation block unit place items host device series own")
Answer = collections.namedtuple("Answer", "step at took generation block result text")


class Reader:
    def __init__(self, path):
        fd = os.open(path, os.O_RDWR)
        self.map = mmap.mmap(fd, 0)
        os.close(fd)
        assert self.map[:8] == b"PRSMLOOP"
        self.generation, self.next, self.lost = 0, 1, 0

    def u64(self, at):
        return struct.unpack_from("<Q", self.map, at)[0]

    @property
    def state(self):
        return self.u64(56)

    @property
    def written(self):
        return self.u64(48)

    def greeting(self):
        length, crc = struct.unpack_from("<II", self.map, 72)
        text = self.map[4096:4096 + length]
        assert zlib.crc32(text) == crc
        return json.loads(text)

    def beat(self, at=None):
        struct.pack_into("<Q", self.map, 144, time.monotonic_ns() if at is None else at)

    def send(self, doc):
        self.generation += 1
        text = doc if isinstance(doc, bytes) else json.dumps(doc).encode()
        at = 32768 + 16384 * (self.generation & 1)
        self.map[at:at + len(text)] = text
        struct.pack_into("<II", self.map, 136, len(text), zlib.crc32(text))
        self.beat()
        struct.pack_into("<Q", self.map, 128, self.generation)
        return self.generation

    def records(self):
        """All records that were not read yet, as (kind, bytes)."""
        written = self.written
        if written >= self.next + 4096:
            self.lost += written - 4095 - self.next
            self.next = written - 4095
        while self.next <= written:
            at = 65536 + (self.next - 1) % 4096 * 576
            raw = bytes(self.map[at:at + 576])
            assert struct.unpack_from("<Q", raw)[0] == self.next, "overtaken"
            assert zlib.crc32(raw[:568]) == struct.unpack_from("<I", raw, 568)[0], "torn"
            self.next += 1
            yield raw[8], raw

    def read(self):
        """Everything that is new, by kind: steps, answers, texts, and raw records of other kinds."""
        got = collections.defaultdict(list)
        for kind, raw in self.records():
            if kind == 1:
                number, = struct.unpack_from("<Q", raw)
                what, flags, passes, backwards = struct.unpack_from("<BHHH", raw, 9)
                step, start, total = struct.unpack_from("<qqq", raw, 16)
                generation, block = struct.unpack_from("<II", raw, 40)
                unit, place = struct.unpack_from("<ii", raw, 48)
                got["steps"].append(Step(number, what, flags, passes, backwards, step, start, total, generation, block, unit, place,
                                         struct.unpack_from("<d", raw, 56)[0], struct.unpack_from("<16q", raw, 64), struct.unpack_from("<16q", raw, 192),
                                         struct.unpack_from("<24d", raw, 320), struct.unpack_from("<q", raw, 512)[0]))
            elif kind == 11:
                number, = struct.unpack_from("<Q", raw)
                step, start, own, generation, block, unit, place = struct.unpack_from("<qqqIIii", raw, 16)
                for i in range(raw[9]):
                    d0, d1, f0, f1, b0, b1, o0, o1, loss, items = struct.unpack_from("<8q2d", raw, 64 + 80 * i)
                    host = (d1 - d0, f0 - d1, f1 - f0, b0 - f1, b1 - b0, o0 - b1, o1 - o0, d0 - start) + (0,) * 8
                    got["steps"].append(Step(number, 0, 0, 1, 1, step + i, start, o1 - start, generation, block, unit, place + i, items, host, (-1,) * 16,
                                             (loss,) + (math.nan,) * 23, own))
                    start, own = o1, 0
            elif kind == 4:
                length, = struct.unpack_from("<I", raw, 48)
                got["texts"].append((struct.unpack_from("<q", raw, 32)[0], raw[64:64 + length].decode()))
            elif kind == 5:
                step, at, took, generation, block, result, length = struct.unpack_from("<qqqIIII", raw, 16)
                got["answers"].append(Answer(step, at, took, generation, block, result, json.loads(raw[64:64 + length] or b"{}")))
            else:
                got[kind].append(raw)
        return got


def find(folder, rank=0):
    """The reader of the newest ring in a folder; None if there is none that is complete."""
    rings = sorted((os.path.join(folder, n) for n in os.listdir(folder) if f"-rank{rank}" in n and n.endswith(".ring")), key=os.path.getmtime)
    try:
        return Reader(rings[-1]) if rings else None
    except (AssertionError, ValueError):  # it is still being made
        return None
