"""PRISM's training iteration in PyTorch on a CUDA device, eager, compiled, or as one CUDA graph.

Prints one JSON object a way: milliseconds an iteration without and with the loss read on the host in each, medians
over rounds with the least and the most, and the forward pass alone. docs/performance.md compares prismtop with it.

    python3 torch_gpu.py --size 512 --out 128 --amp fp32 --how eager,graph,compile,compile-graphs
    python3 torch_gpu.py --size 1024 --out 512 --amp bf16 --how graph --shared
"""
import argparse, json, math, statistics, time, sys
import torch, torch.nn as nn, torch.nn.functional as F
P = argparse.ArgumentParser()
P.add_argument('--size', type=int, default=512)
P.add_argument('--out', type=int, default=128)
P.add_argument('--amp', choices=['fp32', 'tf32', 'bf16', 'fp16'], default='fp32')
P.add_argument('--how', default='eager,graph,compile')
P.add_argument('--iters', type=int, default=200)
P.add_argument('--rounds', type=int, default=5)
P.add_argument('--shared', action='store_true')
A = P.parse_args()
torch.backends.cuda.matmul.allow_tf32 = A.amp == 'tf32'
torch.backends.cudnn.allow_tf32 = A.amp == 'tf32'
torch.backends.cudnn.benchmark = True
D = 'cuda'

def channels(size, out):
    latent, ups, s = (size, 0, 4)
    while s < out:
        s, ups = (s * 2, ups + 1)
    w = [latent // 2]
    for _ in range(ups):
        w.append(w[-1] // 2)
    while w[-1] > 1:
        w.append(max(1, w[-1] // 2))
    return (latent, w, ups)

class Pad(nn.Module):

    def __init__(s, n):
        super().__init__()
        s.n = n

    def forward(s, x):
        d = s.n - x.shape[-1]
        return x if d <= 0 else F.pad(x, (d // 2, d - d // 2, d // 2, d - d // 2))

class Decoder(nn.Module):

    def __init__(s, size, out):
        super().__init__()
        latent, w, ups = channels(size, out)
        s.latent = nn.Parameter(torch.randn(1, latent, 1, 1))
        seq, cin = ([], latent)
        for i, c in enumerate(w):
            last = i == len(w) - 1
            if i == 0:
                seq.append(nn.ConvTranspose2d(cin, c, 4, 1, 0, bias=False))
            elif i <= ups:
                seq.append(nn.ConvTranspose2d(cin, c, 4, 2, 1, bias=False))
            else:
                seq.append(nn.Conv2d(cin, c, 3, 1, 0 if last else 1, bias=c == 1))
            if not last:
                seq += [nn.BatchNorm2d(c), nn.ReLU()]
            cin = c
        seq += [Pad(out), Pad(size)]
        s.net = nn.Sequential(*seq)

    def forward(s):
        return s.net(s.latent)

def cfft2(x):
    return torch.fft.fftshift(torch.fft.fft2(torch.fft.ifftshift(x), norm='ortho'))
n = A.size
g = torch.arange(n, device=D) - n // 2

def mask(cy, cx, r):
    return (g[None, :] - cx) ** 2 + (g[:, None] - cy) ** 2 <= r * r
m_new, m_old = (mask(20.0, 33.0, 20.0), mask(0.0, 0.0, 60.0))

def through(x, m):
    return cfft2(cfft2(x).squeeze() * m).abs().flip((-2, -1))
sh = torch.fft.ifftshift
ms_new, ms_old = (sh(m_new).float(), sh(m_old).float())

def dual(x):
    if A.shared:
        s = torch.fft.fft2(x.squeeze(), norm='ortho')
        return [torch.fft.fft2(s * m, norm='ortho').abs().flip((-2, -1)) for m in (ms_old, ms_new)]
    return [through(x, m_old), through(x, m_new)]

def l1(a, b):
    return (a - b).abs().mean() / (b.abs().mean() + 1e-08)

def build():
    torch.manual_seed(1)
    return Decoder(n, A.out).to(D)
AMP = {'bf16': torch.bfloat16, 'fp16': torch.float16}.get(A.amp)

def fwd(model):
    if AMP is None:
        return model()
    with torch.autocast('cuda', AMP):
        return model().float()

def run(how):
    model = build()
    with torch.no_grad():
        t = torch.zeros(1, 1, n, n, device=D)
        lo = (n - A.out) // 2
        t[..., lo:lo + A.out, lo:lo + A.out] = torch.rand(A.out, A.out, device=D)
        targets = [x.clone() for x in dual(t)]
    opt = torch.optim.Adam(model.parameters(), lr=0.001, fused=True, capturable=how != 'eager')
    f = fwd
    scaler = torch.amp.GradScaler('cuda') if A.amp == 'fp16' else None

    def losses():
        y = f(model)
        a = dual(y)
        return l1(a[0], targets[0]) + l1(a[1], targets[1])
    if how.startswith('compile'):
        torch._dynamo.reset()
        losses = torch.compile(losses, mode='reduce-overhead' if how == 'compile-graphs' else 'default')

    def step():
        opt.zero_grad(set_to_none=how != 'graph')
        loss = losses()
        if scaler is None:
            loss.backward()
            opt.step()
        else:
            scaler.scale(loss).backward()
            scaler.step(opt)
            scaler.update()
        return loss
    if how.startswith('compile'):
        inner = step

        def step():
            torch.compiler.cudagraph_mark_step_begin()
            return inner().detach().clone()
    call = step
    if how == 'graph':
        if scaler is not None:
            return None
        s = torch.cuda.Stream()
        s.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(s):
            for _ in range(5):
                step()
        torch.cuda.current_stream().wait_stream(s)
        G = torch.cuda.CUDAGraph()
        opt.zero_grad(set_to_none=True)
        with torch.cuda.graph(G):
            static = losses()
            static.backward()
            opt.step()

        def call():
            G.replay()
            return static
    t0 = time.time()
    for _ in range(10):
        loss = call()
    torch.cuda.synchronize()
    warm = time.time() - t0
    ms, sync = ([], [])
    for _ in range(A.rounds):
        t = time.perf_counter()
        for _ in range(A.iters):
            loss = call()
        torch.cuda.synchronize()
        ms.append((time.perf_counter() - t) / A.iters * 1000.0)
        t = time.perf_counter()
        for _ in range(A.iters):
            loss = call()
            float(loss.detach())
        torch.cuda.synchronize()
        sync.append((time.perf_counter() - t) / A.iters * 1000.0)
    out = {'how': how, 'ms': round(statistics.median(ms), 4), 'min': round(min(ms), 4), 'max': round(max(ms), 4), 'ms_loss_read': round(statistics.median(sync), 4), 'read_min': round(min(sync), 4), 'read_max': round(max(sync), 4), 'warm_s': round(warm, 1), 'loss': float(loss.detach())}
    with torch.no_grad():
        fw = f
        if how == 'graph':
            for _ in range(3):
                fw(model)
            G2 = torch.cuda.CUDAGraph()
            with torch.cuda.graph(G2):
                y = fw(model)
            fcall = G2.replay
        elif how.startswith('compile'):
            c = torch.compile(fw, mode='reduce-overhead' if how == 'compile-graphs' else 'default')

            def fcall():
                torch.compiler.cudagraph_mark_step_begin()
                return c(model)
        else:
            fcall = lambda: fw(model)
        for _ in range(10):
            fcall()
        torch.cuda.synchronize()
        fs = []
        for _ in range(A.rounds):
            t = time.perf_counter()
            for _ in range(A.iters):
                fcall()
            torch.cuda.synchronize()
            fs.append((time.perf_counter() - t) / A.iters * 1000.0)
        out['forward_ms'] = round(statistics.median(fs), 4)
    return out
for how in A.how.split(','):
    try:
        r = run(how)
        if r:
            print(json.dumps({'size': n, 'out': A.out, 'amp': A.amp, 'shared': A.shared, **r}), flush=True)
    except Exception as e:
        print(json.dumps({'size': n, 'amp': A.amp, 'how': how, 'error': repr(e)[:300]}), flush=True)
