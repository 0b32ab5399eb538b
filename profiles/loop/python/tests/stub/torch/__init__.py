"""A stand-in for PyTorch in tests: the places that prismtop patches, with a clock that the operations advance."""
import sys
import types

__version__ = "stub"
elapsed = 1_000_000_000  # the made-up clock, ns


def advance(ns):
    global elapsed
    elapsed += ns


grad = True


def is_grad_enabled():
    return grad


def is_autocast_enabled(kind="cpu"):
    return False


def get_num_threads():
    return 1


class no_grad:
    def __enter__(self):
        global grad
        self.was, grad = grad, False

    def __exit__(self, *_):
        global grad
        grad = self.was


class Device:
    def __init__(self, kind="cpu"):
        self.type = kind


class Tensor:
    shape, device, dtype, is_sparse, grad_fn = (), Device(), "float32", False, None
    requires_grad, _version = True, 0

    def __init__(self, value=0.0, shape=(), cost=0):
        self.value, self.shape, self.cost, self.grad = value, shape, cost, None

    @classmethod
    def on(cls, kind):
        """A tensor on another device."""
        made = cls()
        made.device = Device(kind)
        return made

    def item(self):
        return self.value

    def numel(self):
        n = 1
        for s in self.shape:
            n *= s
        return n

    def element_size(self):
        return 4

    def dim(self):
        return len(self.shape)

    def backward(self):
        autograd.backward(self)

    def to(self, *args, **kwargs):
        advance(30)
        return self

    def cuda(self):
        advance(30)
        return self


def is_floating_point(tensor):
    return True


def module(name, **members):
    m = types.ModuleType("torch." + name)
    m.__dict__.update(members)
    sys.modules["torch." + name] = m
    parent = sys.modules["torch." + name.rpartition(".")[0]] if "." in name else sys.modules["torch"]
    setattr(parent, name.rpartition(".")[2], m)
    return m


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, grad_variables=None, inputs=None):
    advance(tensors.cost)
    if tensors.value == "fails":
        raise RuntimeError("backward failed")


autograd = module("autograd", backward=backward)


class Module:
    training = True
    _compiled_call_impl = None

    def __init__(self):
        self.weight = Tensor(shape=(4, 4))

    def parameters(self):
        yield self.weight
        for m in self.children():
            yield from m.parameters()

    def buffers(self):
        return iter(())

    def children(self):
        return (m for m in vars(self).values() if isinstance(m, Module))

    def modules(self):
        yield self
        for m in self.children():
            yield from m.modules()

    def named_modules(self):
        return ((str(i), m) for i, m in enumerate(self.modules()))

    def _call(self, *args):
        return self.forward(*args)

    __call__ = _call

    def train(self, on=True):
        self.training = on

    def eval(self):
        self.training = False


nn = module("nn", Module=Module)

before, after, handles = {}, {}, iter(range(1 << 30))


class Handle:
    def __init__(self, hooks, hook):
        self.hooks, self.id = hooks, next(handles)
        hooks[self.id] = hook

    def remove(self):
        self.hooks.pop(self.id, None)


class Optimizer:
    def __init__(self, parameters, cost=0):
        self.param_groups, self.state, self.cost = [{"params": list(parameters)}], {}, cost

    def step(self, closure=None):
        for hook in before.values():
            hook(self, (), {})
        for _ in range(2 if closure else 0):
            closure()
        advance(self.cost)
        for hook in after.values():
            hook(self, (), {})

    def zero_grad(self):
        advance(5)


optim = module("optim", Optimizer=Optimizer)
module("optim.optimizer", Optimizer=Optimizer, register_optimizer_step_pre_hook=lambda hook: Handle(before, hook),
       register_optimizer_step_post_hook=lambda hook: Handle(after, hook))


class _BaseDataLoaderIter:
    def __init__(self, loader):
        self.loader, self._num_yielded = loader, 0

    def __iter__(self):
        return self

    def __len__(self):
        return self.loader.n

    def __next__(self):
        advance(self.loader.cost)
        if self._num_yielded == self.loader.n:
            raise StopIteration
        self._num_yielded += 1
        return Tensor(shape=(self.loader.size, 3)), Tensor(shape=(self.loader.size,))


class DataLoader:
    num_workers, pin_memory, prefetch_factor, timeout, dataset, batch_sampler, sampler, batch_size, collate_fn = 0, False, None, 0, (), None, None, None, None

    def __init__(self, n, size=16, cost=0):
        self.n, self.size, self.cost = n, size, cost

    def __iter__(self):
        return _BaseDataLoaderIter(self)


class IterableDataset:
    pass


module("utils")
module("utils.data", DataLoader=DataLoader, IterableDataset=IterableDataset, BatchSampler=object, default_collate=None)
module("utils.data.dataloader", DataLoader=DataLoader, _BaseDataLoaderIter=_BaseDataLoaderIter)


class GradScaler:
    overflow = False

    def is_enabled(self):
        return True

    def scale(self, loss):
        return Tensor(loss.value * 1024, cost=loss.cost)

    def step(self, optimizer):
        advance(7)
        if not self.overflow:
            optimizer.step()

    def update(self):
        pass


module("amp")
module("amp.grad_scaler", GradScaler=GradScaler)
