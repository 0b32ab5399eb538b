#!/usr/bin/env python3
"""Holds the ablation to whole runs that differ in one setting.

For each setting: `prismtop bench ablation` compares it off and on by blocks within
one run; whole headless runs compare it too, by turns off on on off. Both give an
interval of 95 % (Wilcoxon's signed-rank test); they agree where the intervals
overlap. A busy machine widens both. Nothing but Python's own library is needed.

    sim/ablation/testdata/agreement.py ./prismtop --rounds 3 baseline phase5
"""

import argparse
import json
import math
import statistics
import subprocess
import sys

# setting, off, on
SETTINGS = [("measurement_cache", "false", "true"), ("fused_telescope", "false", "true"), ("amp", "off", "bf16")]

# Iterations of a sample, so that a run goes through the whole pattern in 500.
ITERATIONS = {"baseline": 5, "phase5": 25}


def run(args):
    done = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    return json.loads(done.stdout)


def whole_run(program, preset, key, value):
    """Median iteration time in ms of the progressive stage of a headless run."""
    sets = {"init_cycles": 0, "init_iterations": 0, "threshold": 0, "cycles": 1, "iterations": ITERATIONS[preset], key: value}
    args = [program, "run", "--headless", "--json", "--preset", preset]
    for name, setting in sets.items():
        args += ["--set", f"{name}={setting}"]
    return run(args)["iteration_ms"]["median"]


def signed_rank(values):
    """Centre and 95 % interval; None below six values."""
    n = len(values)
    means = sorted((values[i] + values[j]) / 2 for i in range(n) for j in range(i, n))
    chance = [1.0] + [0.0] * (n * (n + 1) // 2)
    for rank in range(1, n + 1):
        chance = [(p + (chance[s - rank] if s >= rank else 0)) / 2 for s, p in enumerate(chance)]
    total, k = 0.0, -1
    while total + chance[k + 1] <= 0.025:
        k += 1
        total += chance[k]
    interval = (means[k], means[-1 - k]) if k >= 0 else None
    return statistics.median(means), interval


def whole_effect(program, preset, key, off, on, rounds):
    ratios = []
    for _ in range(rounds):
        times = [whole_run(program, preset, key, v) for v in (off, on, on, off)]
        ratios += [math.log(times[1] / times[0]), math.log(times[2] / times[3])]
    centre, interval = signed_rank(ratios)
    return math.expm1(centre), interval and tuple(math.expm1(v) for v in interval)


def show(effect, interval):
    if interval is None:
        return f"{100 * effect:+6.1f} % (no interval)"
    return f"{100 * effect:+6.1f} % [{100 * interval[0]:+.1f}, {100 * interval[1]:+.1f}]"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("presets", nargs="+", choices=sorted(ITERATIONS))
    parser.add_argument("--rounds", type=int, default=3, help="groups of four whole runs for each setting; 3 or more for an interval")
    args = parser.parse_args()
    apart = 0
    print(f"{'preset':9} {'setting':18} {'ablation':32} {'whole runs':32} agree")
    for preset in args.presets:
        only = ",".join(key for key, _, _ in SETTINGS)
        table = run([args.program, "bench", "ablation", "--preset", preset, "--only", only, "--json"])
        rows = {(r["setting"], r["on"]): r for r in table["rows"]}
        for key, off, on in SETTINGS:
            row = rows[key, on]
            mine = (row["effect"], row["interval"])
            theirs = whole_effect(args.program, preset, key, off, on, args.rounds)
            agree = "unknown"
            if mine[1] and theirs[1]:
                agree = "yes" if mine[1][0] <= theirs[1][1] and theirs[1][0] <= mine[1][1] else "NO"
            apart += agree == "NO"
            print(f"{preset:9} {key:18} {show(*mine):32} {show(*theirs):32} {agree}", flush=True)
    sys.exit(1 if apart else 0)


if __name__ == "__main__":
    main()
