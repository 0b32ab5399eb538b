"""What prismtop does to a PyTorch loop when it is asked to: knobs, times of layers, memory, and going back to a kept state.

Loaded at the second step. Everything here runs at a step boundary, in the thread that trains.
"""
import copy
import functools
import gc
import multiprocessing
import os
import random
import shutil
import sys
import time
import weakref

import prismtop_malloc as malloc
from prismtop import MODEL_PHASES, MOST_SERIES, Knob, series
from prismtop_ring import FORKED, KEPT, DROPPED, LAYER, NO_BLOCK, PARTLY, RETURNED, SLOWED, within
from prismtop_torch import Patch

now = time.monotonic_ns
ALLOCATOR = ["gpu_allocated_mb", "gpu_reserved_mb", "gpu_peak_mb", "gpu_fragmented"]
MEMORY = ["parameters", "gradients", "optimizer state", "buffers", "activations"]


class Extra:
    """The knobs and abilities of a loop, made when its models and optimizers are known."""

    def __init__(self, guest):
        self.guest, self.loop, self.torch = guest, guest.loop, guest.torch
        self.enter = self.checkpoints = self.compiled = None
        self.wants_layers, self.next_layers, self.kept, self.waiting, self.trace = False, 0, None, None, None
        self.collects = 1000
        self.gc_on, self.written, self.blocks = gc.isenabled(), {}, set()
        for make in (self.autocast_knob, self.optimizer_knob, self.matmul_knob, self.tf32_knob, self.threads_knob, self.checkpointing_knob, self.compile_knob,
                     self.attention_knob, self.cudnn_knob, self.memory_format_knob, self.keep_memory_knob, self.gc_knob, self.workers_knob, self.pin_memory_knob, self.prefetch_knob):
            try:
                knob = make()
            except Exception as e:  # a PyTorch that lacks something: the others are there
                knob = Knob(make.__name__[:-5], ["as written"], "as written", None, why=within(f"this PyTorch does not offer it: {e}", 200))
            if knob is not None:
                self.loop.knobs.setdefault(knob.key, knob)
        if guest.kind == "cuda":  # a recording's columns are those of the first greeting
            for name in ALLOCATOR:
                self.loop.entry(self.loop.series, MOST_SERIES, name, series)

    def optimizers(self):
        return [o for o in (r() for r in self.guest.optimizers) if o is not None]

    # ---- knobs ----

    def autocast_knob(self):
        t, kind, own = self.torch, self.guest.kind, self.guest.own_autocast
        scaler = self.guest.scaler and self.guest.scaler()
        refused = {}
        if scaler is None or not scaler.is_enabled():
            refused["fp16"] = "the loop has no enabled GradScaler, without which gradients of fp16 vanish"
        if kind == "cuda" and not t.cuda.is_bf16_supported():
            refused["bf16"] = "this GPU has no bf16"
        why = "" if kind in ("cpu", "cuda") else f"not for the device {kind}"
        if not hasattr(t, "get_autocast_dtype"):
            why = "this PyTorch is older than 2.4"
        if not self.guest.roots:
            why = "no call of a model was found: the loop may call model.forward() itself"
        return Knob("autocast", ["as written", "off", "bf16", "fp16"], "as written", self.set_autocast, why=why, refused=refused,
                    help="run the model and the loss in 16 bits where PyTorch allows it", compared=["off", "as written" if own else "bf16"])

    def set_autocast(self, value):
        guest = self.guest
        guest.autocast(False)
        guest.amp = value
        if self.enter is not None:
            self.enter.take()
        elif value != "as written":
            self.enter = Patch(self.torch.amp.autocast_mode.autocast, "__enter__", self.make_enter)
        if value != "as written":
            self.enter.put()

    def make_enter(self, original):
        guest, t = self.guest, self.torch

        def __enter__(context):
            if guest.amp == "as written" or context.device != guest.kind or not guest.mine() or not t.is_grad_enabled():
                return original(context)
            was = context._enabled, context.fast_dtype
            context._enabled = guest.amp != "off"
            if context._enabled:
                context.fast_dtype = t.bfloat16 if guest.amp == "bf16" else t.float16
            try:
                return original(context)
            finally:
                context._enabled, context.fast_dtype = was
        return __enter__

    def optimizer_knob(self):
        t, refused = self.torch, {}
        groups = [g for o in self.optimizers() for g in o.param_groups]
        named = " and ".join(sorted({type(o).__name__ for o in self.optimizers()}))
        why = "" if any("foreach" in g for g in groups) else f"{named} has one way only" if named else "no optimizer of PyTorch's was found"
        parameters = [p for g in groups for p in g["params"]]
        if not any("fused" in g for g in groups):
            refused["fused"] = f"{named} has no fused way"
        elif self.guest.kind == "cpu" and not hasattr(t, "get_autocast_dtype"):
            refused["fused"] = "on the CPU, this needs PyTorch 2.4"
        elif any(not t.is_floating_point(p) or p.is_sparse or p.grad is not None and p.grad.is_sparse for p in parameters):
            refused["fused"] = "a parameter or a gradient is sparse or complex"
        elif any(g.get("differentiable") for g in groups):
            refused["fused"] = "the optimizer is differentiable"
        return Knob("optimizer", ["as written", "for-loop", "foreach", "fused"], "as written", self.set_optimizer, why=why, refused=refused,
                    help="the way the optimizer's arithmetic is done: the same update, rounded otherwise",
                    compared=["as written", "foreach" if "fused" in refused else "fused"])

    def set_optimizer(self, value):
        t = self.torch
        for o in self.optimizers():
            for i, g in enumerate(o.param_groups):
                if "foreach" not in g:
                    continue
                was = self.written.setdefault((id(o), i), (g["foreach"], g.get("fused")))
                foreach, fused = was if value == "as written" else (value == "foreach", value == "fused" if "fused" in g else None)
                g["foreach"] = foreach
                if "fused" in g:
                    g["fused"] = fused
                for p in g["params"]:
                    state = o.state.get(p)
                    if state and hasattr(state.get("step"), "device") and not g.get("capturable"):
                        state["step"] = state["step"].to(device=p.device if g.get("fused") else "cpu", dtype=t.float32 if g.get("fused") else None)
            o._step_supports_amp_scaling = any(g.get("fused") for g in o.param_groups)
            o._need_device_dtype_check_for_fused = True

    def matmul_knob(self):
        t, why = self.torch, ""
        try:
            value = t.get_float32_matmul_precision()
        except RuntimeError:
            value, why = "highest", "the program mixes PyTorch's two interfaces to TF32"
        return Knob("matmul", ["highest", "high", "medium"], value, t.set_float32_matmul_precision, why=why,
                    help="precision inside products of float32 matrices: TF32 or bf16", compared=["highest", "medium" if self.guest.kind == "cpu" else "high"])

    def tf32_knob(self):
        backend = self.torch.backends.cudnn
        if self.guest.kind != "cuda":
            return None
        return Knob("tf32_convolutions", ["off", "on"], "on" if backend.allow_tf32 else "off", lambda v: setattr(backend, "allow_tf32", v == "on"),
                    help="TF32 inside convolutions", compared=["off", "on"])

    def threads_knob(self):
        t = self.torch
        n = t.get_num_threads()
        most = max(n, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
        why = "" if most > 1 else "the program may use one processor"
        return Knob("threads", None, str(n), lambda v: t.set_num_threads(int(float(v))), low=1, high=max(most, 2), integer=True, why=why,
                    help="threads of PyTorch's kernels on the host", compared=[str(n), "1"] if n > 1 else [])

    def checkpointing_knob(self):
        models = self.guest.models()
        own = [m for m in models if hasattr(m, "gradient_checkpointing_enable") and getattr(m, "supports_gradient_checkpointing", False)]
        blocks = repeated(models)
        why = "" if own or blocks else "the model has no list of equal blocks"
        if self.is_compiled(models):
            why = "the model is compiled"
        return Knob("checkpointing", ["off", "on"], "on" if any(getattr(m, "is_gradient_checkpointing", False) for m in own) else "off",
                    functools.partial(self.set_checkpointing, own, [weakref.ref(b) for b in blocks]), why=why, compared=["off", "on"],
                    help=f"compute the activations of {len(blocks)} blocks again in backward: less memory, more time")

    def set_checkpointing(self, own, blocks, value):
        if own:
            for m in own:
                m.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False}) if value == "on" else m.gradient_checkpointing_disable()
            return
        alive = [b for b in (r() for r in blocks) if b is not None]
        self.blocks = {id(b) for b in alive} if value == "on" else set()
        if self.checkpoints is None and alive:
            from torch.utils.checkpoint import checkpoint
            t = self.torch

            def make(original):
                def forward(block, *args, **kwargs):
                    if id(block) in self.blocks and t.is_grad_enabled():
                        return checkpoint(original, block, *args, use_reentrant=False, **kwargs)
                    return original(block, *args, **kwargs)
                return forward
            self.checkpoints = Patch(type(alive[0]), "forward", make)
        if self.checkpoints is not None:
            self.checkpoints.put() if value == "on" else self.checkpoints.take()

    @staticmethod
    def is_compiled(models):
        return any(hasattr(m, "_orig_mod") or getattr(m, "_compiled_call_impl", None) is not None for m in models)

    def compile_knob(self):
        t, models, why = self.torch, self.guest.models(), ""
        own, backend = self.is_compiled(models), os.environ.get("PRISMTOP_LOOP_COMPILE", "inductor")
        if not hasattr(t, "compiler") or not hasattr(t.compiler, "set_stance"):
            why = "this PyTorch is older than 2.6"
        elif not models:
            why = "no call of a model was found"
        elif not own and backend == "inductor" and self.guest.kind == "cpu" and not shutil.which(os.environ.get("CXX", "g++")) and not shutil.which("clang++"):
            why = "inductor needs a C++ compiler, and none is on PATH"
        self.compiled = {}
        return Knob("compile", ["off", "on"], "on" if own else "off", functools.partial(self.set_compile, own, backend), why=why, price="dear",
                    compared=["off", "on"], help="torch.compile of the model: the first time takes seconds to minutes")

    def set_compile(self, own, backend, value):
        t = self.torch
        if own:
            t.compiler.set_stance("default" if value == "on" else "force_eager")
            return
        for m in self.guest.models():
            if value == "off":
                m.__dict__["_compiled_call_impl"] = None  # PyTorch's own place, which it leaves out when a model is saved
                continue
            if id(m) not in self.compiled:
                self.compiled[id(m)] = t.compile(m._call_impl, backend=backend)
            m.__dict__["_compiled_call_impl"] = functools.partial(self.call_compiled, weakref.ref(m), self.compiled[id(m)])

    def call_compiled(self, model, compiled, *args, **kwargs):
        """A compiler that fails must not fail the training: the model goes on without it."""
        from torch._dynamo.exc import TorchDynamoException
        try:
            return compiled(*args, **kwargs)
        except TorchDynamoException as e:
            m, knob = model(), self.loop.knobs["compile"]
            m.__dict__["_compiled_call_impl"] = None
            knob.value, knob.why = "off", within(f"it failed: {str(e).strip().splitlines()[0]}", 200)
            self.loop.say(f"compile = on: {knob.why}", 2)
            self.loop.dirty = True
            return m._call_impl(*args, **kwargs)

    def attention_knob(self):
        if not any("ttention" in type(x).__name__ or "Transformer" in type(x).__name__ for m in self.guest.models() for x in m.modules()):
            return None
        b, kind = self.torch.backends.cuda, self.guest.kind

        def apply(value):
            b.enable_flash_sdp(value in ("auto", "flash"))
            b.enable_mem_efficient_sdp(value in ("auto", "efficient"))
            if hasattr(b, "enable_cudnn_sdp"):
                b.enable_cudnn_sdp(value == "auto")
            b.enable_math_sdp(True)  # what no other can do is done by it
        return Knob("attention", ["auto", "flash", "efficient", "math"], "auto", apply, help="the kernel of scaled_dot_product_attention",
                    refused={"efficient": "only on a GPU"} if kind == "cpu" else {}, compared=["math", "auto"])

    def cudnn_knob(self):
        b = self.torch.backends.cudnn
        return Knob("cudnn_benchmark", ["off", "on"], "on" if b.benchmark else "off", lambda v: setattr(b, "benchmark", v == "on"), compared=["off", "on"],
                    help="try cuDNN's algorithms for each new shape", why="" if self.guest.kind == "cuda" else "the model is not on a CUDA device")

    def memory_format_knob(self):
        t, models = self.torch, self.guest.models()
        pictures = [p for m in models for p in m.parameters() if p.dim() == 4]
        last = any(p.is_contiguous(memory_format=t.channels_last) and not p.is_contiguous() for p in pictures)

        def apply(value):
            form = t.channels_last if value == "channels_last" else t.contiguous_format
            with t.no_grad():
                for m in self.guest.models():
                    for p in m.parameters():
                        if p.dim() == 4:
                            p.data = p.data.contiguous(memory_format=form)
                            p.grad = None if p.grad is None else p.grad.contiguous(memory_format=form)
                for o in self.optimizers():
                    for state in o.state.values():
                        for name, x in state.items():
                            if getattr(x, "dim", int)() == 4:
                                state[name] = x.contiguous(memory_format=form)
        return Knob("memory_format", ["contiguous", "channels_last"], "channels_last" if last else "contiguous", apply, price="dear",
                    why="" if pictures else "the model has no weights of four dimensions", compared=["contiguous", "channels_last"],
                    help="order of the values of images in memory")

    def keep_memory_knob(self):
        if self.guest.kind != "cpu":
            return None
        return Knob("keep_memory", ["off", "on"], "on" if malloc.kept else "off", lambda v: malloc.keep(v == "on"), ["data"] + MODEL_PHASES, exact=True, why=malloc.why(),
                    compared=["off", "on"], help="malloc keeps what is freed: else the kernel takes it, and gives fresh pages in the next step")

    def gc_knob(self):
        def apply(value):
            (gc.enable if value == "on" else gc.disable)()
        return Knob("gc", ["off", "on"], "on" if gc.isenabled() else "off", apply, exact=True, compared=["on", "off"],
                    help="Python's garbage collector; off: one collection every 1000 steps")

    def loader_why(self):
        return "" if self.guest.loader()[0] is not None else "the batches come from no DataLoader"

    def workers_knob(self):
        loader = self.guest.loader()[0]
        n = loader.num_workers if loader is not None else 0
        why = self.loader_why()
        if not why and isinstance(loader.dataset, self.torch.utils.data.IterableDataset):
            why = "an IterableDataset divides its data among the workers itself"
        elif not why and not n and multiprocessing.get_start_method() != "fork":
            why = "workers would be spawned here, which needs a guarded main module"

        def apply(value):
            loader, _ = self.guest.loader()
            if loader is None:
                raise ValueError(self.loader_why())
            n = int(float(value))
            if not n and loader.timeout:
                raise ValueError("the DataLoader has a timeout, which needs workers")
            loader.num_workers = n
            loader.prefetch_factor = (loader.prefetch_factor or 2) if n else None
            loader._iterator = None  # persistent workers end with their epoch
        return Knob("workers", None, str(n), apply, ["data"], "processes of the DataLoader, from the next epoch on", "epoch", why=why,
                    low=0, high=max(n, 2 * (os.cpu_count() or 1)), integer=True)

    def pin_memory_knob(self):
        loader = self.guest.loader()[0]
        why = self.loader_why() or ("" if self.guest.kind == "cuda" else "the model is not on a CUDA device")
        return Knob("pin_memory", ["off", "on"], "on" if loader is not None and loader.pin_memory else "off",
                    lambda v: setattr(self.guest.loader()[0], "pin_memory", v == "on"), ["data", "prepare"],
                    "page-locked batches, from the next epoch on", "epoch", exact=True, why=why)

    def prefetch_knob(self):
        loader = self.guest.loader()[0]

        def apply(value):
            loader = self.guest.loader()[0]
            if not loader.num_workers:
                raise ValueError("the DataLoader has no workers")
            loader.prefetch_factor, loader._iterator = int(float(value)), None
        return Knob("prefetch", None, str(loader.prefetch_factor or 2) if loader is not None else "2", apply, ["data"],
                    "batches that each worker prepares ahead, from the next epoch on", "epoch", exact=True, why=self.loader_why(), low=1, high=64, integer=True)

    # ---- at boundaries ----

    def boundary(self, t):
        if self.loop.step >= self.collects:
            self.collects = self.loop.step + 1000
            if self.loop.knobs["gc"].value == "off":
                gc.collect()
        if self.wants_layers:
            self.layers_boundary(t)
        if self.trace is not None and self.trace.boundary():
            self.trace = None
        if self.waiting is not None:
            self.try_keep()

    def asked(self, doc):
        """What a document asks for beside values; returns what is refused. It replaces what the one before it waited for."""
        self.waiting = None
        self.wants_layers = bool(doc.get("layers"))
        refused = {"layers": self.layers_why()} if self.wants_layers and self.layers_why() else {}
        if refused:
            self.wants_layers = False
        if doc.get("trace") and self.trace is None:
            try:
                self.trace = Trace(self, str(doc["trace"]))
            except Exception as e:
                refused["trace"] = str(e) or type(e).__name__
        verb = doc.get("state", "")
        if verb:
            try:
                self.state(verb, int(doc.get("steps", 0)))
            except Exception as e:
                refused["state"] = str(e)
        return refused

    def unwatched(self):
        """The reader is gone: what only it wanted ends."""
        self.wants_layers, self.waiting = False, None
        if self.kept is not None:
            self.state("return", 0)
            self.state("drop", 0)

    def back(self):
        """Takes back what is switched, after an error."""
        for undo in [lambda: self.trace and self.trace.stop(), lambda: self.enter and self.enter.take(), lambda: self.checkpoints and self.checkpoints.take(),
                     lambda: (gc.enable if self.gc_on else gc.disable)(), lambda: malloc.kept or malloc.keep(False), lambda: self.guest.layers and self.guest.layers.leave()]:
            try:
                undo()
            except Exception:
                pass
        self.guest.layers = self.guest.kept = self.trace = None

    def describe(self, doc):
        loader = self.guest.loader()[0]
        doc.update(workers=loader.num_workers if loader is not None else 0, memory=[{"name": n, "model": n != "activations"} for n in MEMORY if n != "activations" or self.guest.kind == "cuda"])
        doc["able"].update(layers=self.layers_why(), fork=self.fork_why(), trace="" if hasattr(self.torch, "profiler") else "this PyTorch has no profiler")

    # ---- memory ----

    def memory(self):
        """Bytes of tensors by kind, and of the device's allocator. Activations are the difference of the two."""
        t, models = self.torch, self.guest.models()
        parameters = {id(p): p for m in models for p in m.parameters()}.values()
        parts = [sum(map(nbytes, parameters)), sum(nbytes(p.grad) for p in parameters if p.grad is not None),
                 sum(nbytes(x) for o in self.optimizers() for s in o.state.values() for x in s.values() if hasattr(x, "element_size")),
                 sum(nbytes(b) for m in models for b in m.buffers())]
        if self.guest.kind != "cuda":
            return parts + [-1], []
        s = t.cuda.memory_stats()
        free, total = t.cuda.mem_get_info()
        held, unused = s.get("reserved_bytes.all.current", 0), s.get("inactive_split_bytes.all.current", 0)
        self.loop.log(dict(zip(ALLOCATOR, (s.get("allocated_bytes.all.current", 0) / 1e6, held / 1e6, s.get("allocated_bytes.all.peak", 0) / 1e6,
                                           unused / held if held else 0.0))))
        card = [s.get(k, -1) for k in ("allocated_bytes.all.current", "reserved_bytes.all.current", "allocated_bytes.all.peak", "reserved_bytes.all.peak")]
        return parts + [max(0, card[2] - sum(parts))], card + [free, total, s.get("num_alloc_retries", -1)]

    # ---- layers ----

    def layers_why(self):
        models = self.guest.models()
        if not models:
            return "no call of a model was found"
        return "the model is compiled: its modules are not called one by one" if self.is_compiled(models) else ""

    def layers_boundary(self, t):
        layers = self.guest.layers
        if layers is None:
            if t > self.next_layers:
                self.guest.layers = Layers(self)
        elif layers.finished():
            self.next_layers = now() + 1_000_000_000
            self.guest.layers = None

    # ---- going back ----

    def fork_why(self):
        if self.loop.world > 1:
            return "several ranks train together"
        if self.guest.loader()[0] is None:
            return "the batches come from no DataLoader, so they cannot be given again"
        if any(type(o).__name__ == "LBFGS" for o in self.optimizers()):
            return "LBFGS keeps more than its state says"
        if any(m in sys.modules for m in ("lightning.pytorch.trainer.trainer", "pytorch_lightning.trainer.trainer", "transformers.trainer", "keras.src.backend.torch.trainer")):
            return "its trainer counts steps itself, which cannot be taken back"
        return ""

    def state(self, verb, steps):
        if verb == "keep":
            why = self.fork_why()
            if why:
                raise ValueError(why)
            self.waiting = steps, self.loop.ring.seen
            self.try_keep()
        elif self.kept is None:
            raise ValueError("no state is kept")
        elif verb == "return":
            self.kept.back()
            self.loop.answer(self.loop.ring.seen, NO_BLOCK, now(), 0, RETURNED, {})
        else:
            self.guest.kept = self.kept if self.kept.replay else None  # what was not given yet is given first
            self.kept.recording = False
            self.kept, self.loop.forked, self.loop.flags = None, 0, self.loop.flags & ~FORKED
            self.loop.answer(self.loop.ring.seen, NO_BLOCK, now(), 0, DROPPED, {})

    def try_keep(self):
        """Keeps the state once the epoch has enough steps left."""
        steps, generation = self.waiting
        _, iterator = self.guest.loader()
        try:
            whole = len(iterator)
            if whole <= steps:
                raise ValueError(f"an epoch has {whole} steps, and this needs {steps}")
            if iterator is None or whole - iterator._num_yielded < steps:
                return
            if iterator._num_yielded != self.loop.place:
                raise ValueError("the loop fetches batches ahead")
            t = now()
            self.kept = self.guest.kept = Kept(self, iterator)
            self.loop.forked = self.loop.flags = FORKED
            self.loop.answer(generation, NO_BLOCK, t, now() - t, KEPT, {})
        except Exception as e:
            self.loop.answer(generation, NO_BLOCK, now(), 0, PARTLY, {"state": str(e) or type(e).__name__})
        self.waiting = None


def nbytes(tensor):
    """What a tensor has in this process: of one that is distributed, its part."""
    tensor = getattr(tensor, "_local_tensor", tensor)
    return tensor.numel() * tensor.element_size()


def repeated(models):
    """The members of the longest list of equal blocks of a model."""
    best = []
    for m in models:
        for x in m.modules():
            parts = [c for c in x.children() if next(c.parameters(), None) is not None]
            if type(x).__name__ in ("ModuleList", "Sequential") and len(parts) > max(1, len(best)) and len({type(c) for c in parts}) == 1 and \
                    next(parts[0].children(), None) is not None:
                best = parts
    return best


class Layers:
    """Times every module in one step: forward by hooks that are there only during the model's call, backward by hooks of
    the graph's nodes, which vanish with it. A module's backward lasts until another's begins."""

    def __init__(self, extra):
        self.extra, self.guest, self.torch = extra, extra.guest, extra.torch
        self.hooks, self.stack, self.spans, self.index, self.names = [], [], [], {}, []
        self.since = self.at = None
        self.phase = 0  # 1 in forward, 2 in backward, 3 over
        for m in self.guest.models():
            for name, x in m.named_modules():
                if id(x) not in self.index:
                    self.index[id(x)] = len(self.names)
                    self.names.append((f"{name or 'model'} {type(x).__name__}", 0))
        self.calls = [0] * len(self.names)

    def stamp(self):
        if self.guest.kind != "cuda":
            return now()
        event = self.torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def charge(self, which, backward):
        stamp = self.stamp()
        if self.at is not None and self.since is not None:
            self.spans.append((self.at, backward, self.since, stamp))
        self.at, self.since = which, stamp

    def enter(self):
        if self.phase:
            return
        from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
        self.phase = 1
        self.guest.loop.flags |= SLOWED
        self.hooks = [register_module_forward_pre_hook(self.begins), register_module_forward_hook(self.ends)]

    def begins(self, module, args):
        try:
            self.stack.append(self.at)
            which = self.index.get(id(module))
            self.charge(which, False)
            if which is not None:
                self.calls[which] += 1
        except Exception as e:
            self.guest.loop.stop(e)

    def ends(self, module, args, out):
        try:
            self.charge(self.stack.pop() if self.stack else None, False)
            node = getattr(out[0] if isinstance(out, (list, tuple)) and out else out, "grad_fn", None)
            which = self.index.get(id(module))
            if node is not None and which is not None and next(module.children(), None) is None:
                node.register_prehook(functools.partial(self.backward, which))
        except Exception as e:
            self.guest.loop.stop(e)

    def backward(self, which, gradients):
        try:
            if self.phase == 2:
                self.charge(which, True)
        except Exception as e:
            self.guest.loop.stop(e)

    def leave(self):
        if self.phase == 1:
            for hook in self.hooks:
                hook.remove()
            self.hooks, self.stack, self.at, self.phase = [], [], None, 2

    def over(self):
        """Backward is over."""
        if self.phase == 2:
            self.charge(None, True)
            self.phase = 3

    def finished(self):
        """Publishes the layers once their times are known; whether they are."""
        if self.phase < 3:
            return self.phase == 2 and not self.spans
        if not isinstance(self.since, int) and not self.since.query():
            return False
        loop, t = self.guest.loop, now()
        sums = [[-1, -1] for _ in self.names]
        for which, backward, a, b in self.spans:
            took = b - a if isinstance(b, int) else int(a.elapsed_time(b) * 1e6)
            sums[which][backward] = max(0, sums[which][backward]) + took
        called = [i for i, s in enumerate(sums) if max(s) >= 0][:512]
        for n, i in enumerate(called):
            loop.ring.put(LAYER, loop.step - 1, t, [("qq", 32, *sums[i]), ("III", 48, n, len(called), self.calls[i])], self.names[i][0])
        return True


class Trace:
    """A trace of torch.profiler of a few steps, written when they are over. The first step that it sees is left out."""

    STEPS = 5

    def __init__(self, extra, path):
        self.extra, self.path, self.seen = extra, path, -1  # the boundary at which it begins is none of its own
        with open(path, "xb", opener=lambda p, f: os.open(p, f, 0o600)):  # that it can be written is known before anything is traced
            pass
        profiler = extra.torch.profiler
        kinds = [profiler.ProfilerActivity.CPU] + ([profiler.ProfilerActivity.CUDA] if extra.guest.kind == "cuda" else [])
        try:
            self.profile = profiler.profile(activities=kinds, schedule=profiler.schedule(wait=0, warmup=1, active=self.STEPS, repeat=1), on_trace_ready=self.ready)
            self.profile.start()
        except Exception:
            os.unlink(path)
            raise
        extra.guest.loop.flags |= SLOWED

    def ready(self, profile):
        begun = now()
        profile.export_chrome_trace(self.path)
        self.extra.loop.say(f"trace of {self.STEPS} steps written to {self.path} in {(now() - begun) / 1e9:.1f} s")

    def boundary(self):
        """Counts a step; whether it was the last."""
        self.seen += 1
        if self.seen > 0:
            self.profile.step()  # calls ready() after the last
        self.extra.loop.flags |= SLOWED
        if self.seen <= self.STEPS:
            return False
        self.stop()
        return True

    def stop(self):
        self.profile.stop()


class Kept:
    """A kept state of the loop: weights, gradients, moments, gradient scaler, learning-rate schedulers, random numbers, and the
    batches since. What the program counts in variables of its own is not part of it."""

    def __init__(self, extra, iterator):
        self.extra, self.torch, self.iterator, self.yielded = extra, extra.torch, weakref.ref(iterator), iterator._num_yielded
        guest, loop, before = extra.guest, extra.loop, extra.guest.kept
        # What an earlier state has yet to give again comes first: the iterator is past it.
        self.batches = list(before.replay) if before is not None and before.iterator() is iterator else []
        self.replay, self.recording, self.over = list(self.batches), True, False
        self.counts = loop.unit, loop.unit_steps, loop.unit_items, loop.epoch, loop.place, loop.evaluated
        with self.torch.no_grad():
            tensors = {id(x): x for m in guest.models() for x in [*m.parameters(), *m.buffers()]}
            self.tensors = [(x, x.detach().clone(), None if x.grad is None else x.grad.detach().clone()) for x in tensors.values()]
            self.optimizers = [(o, [(p, copy.deepcopy(dict(s))) for p, s in o.state.items()],
                                [{k: copy.deepcopy(v) for k, v in g.items() if k not in ("params", "foreach", "fused")} for g in o.param_groups]) for o in extra.optimizers()]
        scaler = guest.scaler and guest.scaler()
        scheduler = getattr(getattr(self.torch.optim, "lr_scheduler", None), "LRScheduler", ())
        self.others = [(x, copy.deepcopy(x.state_dict())) for x in [scaler] + [s for s in gc.get_objects() if issubclass(type(s), scheduler)] if x is not None]
        self.random = self.numbers()

    def numbers(self):
        """The state of every random number generator that a loop uses."""
        t, numpy = self.torch, sys.modules.get("numpy")
        card = t.cuda.get_rng_state_all() if self.extra.guest.kind == "cuda" else None
        return t.get_rng_state(), card, random.getstate(), numpy.random.get_state() if numpy is not None else None

    def draw(self, state):
        host, card, python, numpy = state
        self.torch.set_rng_state(host)
        if card is not None:
            self.torch.cuda.set_rng_state_all(card)
        random.setstate(python)
        if numpy is not None:
            sys.modules["numpy"].random.set_state(numpy)

    def batch(self, iterator, original):
        """The next batch: one that is given again, or a new one, which is kept."""
        if iterator is not self.iterator():
            if not self.recording and self.iterator() is None:  # the program left its epoch
                self.extra.guest.kept = None
            return original(iterator)
        if self.replay:
            batch, state = self.replay.pop(0)
            iterator._num_yielded += 1
            if not self.replay and not self.recording:
                self.extra.guest.kept = None
            self.draw(state)
            return clone(batch)
        try:
            batch = original(iterator)
        except StopIteration:
            self.over = True
            raise
        if self.recording:
            self.batches.append((clone(batch), self.numbers()))
        return batch

    def back(self):
        """Goes back, under the knobs' present values, or raises an error before anything is changed."""
        loop, iterator = self.extra.loop, self.iterator()
        if iterator is None or self.over:
            raise ValueError("its epoch is over, and the batches with it")
        with self.torch.no_grad():
            for x, value, gradient in self.tensors:
                x.data.copy_(value)
                x.grad = None if gradient is None else gradient.clone()
            for o, states, groups in self.optimizers:
                o.state.clear()
                for p, s in states:
                    o.state[p] = copy.deepcopy(s)
                for g, was in zip(o.param_groups, groups):
                    g.update(copy.deepcopy(was))
        for x, state in self.others:
            x.load_state_dict(copy.deepcopy(state))
        for key in ("optimizer", "memory_format"):  # the optimizer's tensors follow the way that is in force
            knob = loop.knobs.get(key)
            if knob is not None and not knob.why:
                knob.apply(knob.value)
        self.draw(self.random)
        self.replay = list(self.batches)
        iterator._num_yielded = self.yielded
        loop.unit, loop.unit_steps, loop.unit_items, loop.epoch, loop.place, loop.evaluated = self.counts


def clone(batch):
    """A copy of a batch's tensors, because a program may write into them."""
    if hasattr(batch, "clone"):
        return batch.clone()
    if isinstance(batch, dict):
        return type(batch)({k: clone(v) for k, v in batch.items()}) if type(batch) is dict else copy.deepcopy(batch)
    if isinstance(batch, (list, tuple)):
        return type(batch)(*map(clone, batch)) if hasattr(batch, "_fields") else type(batch)(map(clone, batch))
    return batch
