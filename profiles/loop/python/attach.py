"""Executed by sys.remote_exec in a Python that trains already: loads the module, which then watches from the next steps on.

A call of the function with its paths comes after it. It leaves nothing behind but the module.
"""


def prismtop_attach(module, rings, says, done):
    import os
    import sys
    said = done
    try:
        there = sys.modules.get("prismtop")
        if there is not None and there.LOOP.live:
            said = "its loop is watched already"
        elif getattr(sys.modules.get("torch"), "optim", None) is None:
            said = "it has not imported PyTorch"
        elif not getattr(sys, "_is_gil_enabled", lambda: True)():
            said = "it runs without the GIL"
        else:
            for name in [n for n in sys.modules if n.partition("_")[0] == "prismtop"]:
                del sys.modules[name]  # of an earlier time, which took its patches back
            os.environ["PRISMTOP_LOOP"] = rings
            sys.path.insert(0, module)
            try:
                import prismtop
                import prismtop_knobs  # noqa: F401
            finally:
                sys.path.remove(module)
            if prismtop.LOOP.guest is None:
                said = "its PyTorch cannot be patched"
            prismtop.LOOP.attached = True
    except Exception as e:
        said = f"{type(e).__name__}: {e}"
    with open(says + ".new", "w") as f:
        f.write(said)
    os.replace(says + ".new", says)
