"""Put in front of PYTHONPATH by `prismtop python …`: lets prismtop wait for PyTorch, then runs the environment's own sitecustomize.

Every Python that the program starts reads this, so it must do no harm in any version.
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))

if sys.version_info >= (3, 9) and "PRISMTOP_LOOP" in os.environ:
    try:
        import prismtop  # noqa: F401
    except Exception as e:  # never the reason that a program does not start
        sys.stderr.write("prismtop: not watching: %r\n" % (e,))

for folder in list(sys.path):  # the sitecustomize that this one hides
    other = os.path.join(folder or os.curdir, "sitecustomize.py")
    if os.path.abspath(folder or os.curdir) != HERE and os.path.isfile(other):
        __file__ = other
        with open(other, "rb") as f:
            code = compile(f.read(), other, "exec")
        exec(code)
        break
