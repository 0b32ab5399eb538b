"""Tests of the callbacks and of loops without PyTorch: each example trains 4 epochs of 50 steps, with its own metric printed after each."""
import collections
import importlib.util
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
MODULE = os.path.dirname(HERE)
sys.path.insert(0, HERE)

import ring_reader  # noqa: E402


class Examples(unittest.TestCase):
    def train(self, needs, metric, items, passes, begins=2):
        """Runs the example; its epochs, evaluations and metrics must be those that it has. It returns its steps."""
        for name in [needs] if needs in ("numpy",) else [needs, "torch" if needs != "jax" else "numpy"]:
            if importlib.util.find_spec(name) is None:
                self.skipTest(f"this Python has no {name}")
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        script, environment = os.path.join(MODULE, "testdata", f"with_{needs}.py"), {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": MODULE}
        alone = subprocess.run([sys.executable, script], capture_output=True, text=True, env=environment, timeout=600)
        with open(os.path.join(folder, "out"), "w+") as out, open(os.path.join(folder, "err"), "w+") as err:
            p = subprocess.Popen([sys.executable, script], stdout=out, stderr=err, env={**environment, "PRISMTOP_LOOP": folder})
            while p.poll() is None:
                time.sleep(0.05)
                reader = ring_reader.find(folder)
                if reader is not None:
                    reader.beat()  # or it would be watched no more after some seconds
            for f in (out, err):
                f.seek(0)
            said, errors = out.read(), err.read()
        self.assertEqual(p.returncode, 0, errors)
        self.assertNotIn("prismtop", errors)
        self.assertEqual([line for line in said.splitlines() if line.startswith(metric)], [line for line in alone.stdout.splitlines() if line.startswith(metric)])
        printed = [float(line.split()[-1]) for line in said.splitlines() if line.startswith(metric)][-4:]
        reader = ring_reader.find(folder)
        greeting, got = reader.greeting(), reader.read()
        steps, epochs = got["steps"], [raw for raw in got[6] if struct.unpack_from("<i", raw, 48)[0] >= 0]  # the others are of steps
        self.assertEqual(reader.state, 3)
        self.assertEqual(greeting["unit"]["total"], 4)
        # The ring is made at the second step.
        self.assertEqual(collections.Counter(s.unit for s in steps), {0: 50 - begins, 1: 50, 2: 50, 3: 50})
        self.assertEqual([struct.unpack_from("<ii", raw, 48) for raw in epochs], [(0, 50 - begins), (1, 50), (2, 50), (3, 50)])
        names = [s["name"] for s in greeting["series"]]
        at = names.index(metric)
        values = [struct.unpack_from("<24d", raw, 320)[at] for raw in epochs]
        self.assertEqual(len(values), len(printed))
        for value, expected in zip(values, printed):
            self.assertAlmostEqual(value, expected, 5)
        self.assertEqual({s["name"]: s["better"] for s in greeting["series"]}[metric], "more")
        for s in steps:
            self.assertEqual(sum(s.host), s.total)
        # Those who fetch a batch ahead count it in the step in which they do.
        self.assertEqual([sum(s.items for s in steps if s.unit == unit) for unit in (1, 2, 3)], [50 * items] * 3)
        if passes is not None:
            self.assertEqual({s.passes for s in steps}, {passes})
        # An evaluation is in the step that comes after it.
        self.assertEqual([(s.unit, s.kind) for s in steps if s.flags & 4], [(1, 1), (2, 1), (3, 1)])
        phase = [p["name"] for p in greeting["phases"]].index("evaluation")
        self.assertTrue(all(bool(s.host[phase]) == bool(s.flags & 4) for s in steps))
        return steps

    def test_lightning(self):
        steps = self.train("lightning", "val_acc", 32, 2)
        self.assertTrue(all(0 < s.series[0] < 3 for s in steps), "the loss is that of the step and not of a part of it")

    def test_transformers(self):
        steps = self.train("transformers", "eval_accuracy", 32, 2)
        self.assertTrue(0.9 < steps[0].series[0] < 2, "the losses of two passes, each divided by two, add up")

    def test_accelerate(self):
        steps = self.train("accelerate", "val_acc", 32, 2)
        self.assertTrue(0.9 < steps[0].series[0] < 2)

    def test_keras(self):
        steps = self.train("keras", "val_accuracy", 16, None)  # its model is found by a search
        for phase in (0, 2, 4, 6):
            self.assertTrue(all(s.host[phase] > 0 for s in steps), phase)

    def test_numpy(self):
        steps = self.train("numpy", "r2_score", 16, 0)
        self.assertLess(steps[-1].series[0], steps[0].series[0] / 100)
        for phase in (2, 4, 6):
            self.assertTrue(all(s.host[phase] > 0 for s in steps))

    def test_jax(self):
        steps = self.train("jax", "r2_score", 16, 0)
        self.assertLess(steps[-1].series[0], steps[0].series[0] / 100)


if __name__ == "__main__":
    unittest.main()
