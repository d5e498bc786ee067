"""One peer of bench/table.R: JAX, NumPy or PyTorch in a process of its own.

    python peers.py jax|numpy|torch PORT TOKEN THREADS

It connects to R, which listens at PORT of this machine, and answers each line of R's with a line. Fields stand between
tabs; the first of an answer is `ok`, `absent` (this peer has no such thing: a gap in the table) or `error`.

    use NAME                          what follows is about the workload of this name, one of several
    load ID CARRY TIMES ARGUMENT...   ID is a name of peer_workloads.py, or, for JAX, the path of a program: a module
                                      with a function `program`, or StableHLO (.mlir). An argument is the path of a .npy file, or a constant after `=`. The first call is
                                      made TIMES times, newly traced and compiled each time; the answer is its median time
    check MODE FILE...                how far its results are from those in the files
    time N                            seconds of N calls, each of them waited for
    drop                              forgets workloads and data

Needs the peer itself and NumPy. What a workload computes is in peer_workloads.py.
"""

import os
import runpy
import socket
import statistics
import sys
import time

import peer_workloads
from peer_workloads import Absent


def limit_threads(threads):
    """Before the peer is imported: most libraries read the number once."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(threads)
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    # XLA has no such variable; it counts the processors that it may run on.
    if hasattr(os, "sched_setaffinity"):
        allowed = sorted(os.sched_getaffinity(0))
        if threads < len(allowed):
            os.sched_setaffinity(0, allowed[:threads])


def clock():
    """Of one thread the processor's time, in which what else runs on the machine has no part."""
    return time.process_time() if os.environ["OMP_NUM_THREADS"] == "1" else time.perf_counter()


class Peer:
    """What workloads are written with: functions of the same names and arguments for all peers."""

    title = ""

    def __getattr__(self, name):
        raise Absent(f"{self.title} has no {name}()")

    def compiled(self, f, carry):
        return f

    def wait(self, results):
        pass

    def forget(self):
        pass

    def loop(self, steps, body, state):
        """`state = body(i, *state)` for i from 0 to steps - 1; a program of its own where the peer has loops."""
        for i in range(int(steps)):
            state = body(i, *state)
        return state


class NumPy(Peer):
    title = "NumPy"

    def __init__(self, threads):
        import numpy as np

        self.version = np.__version__
        self.np = np
        for name in (
            "exp log tanh sin cos sqrt sum mean max maximum var where abs arange zeros zeros_like concatenate "
            "cumsum sort argsort argmax diag eye"
        ).split():
            setattr(self, name, getattr(np, name))
        self.random = np.random.default_rng(1)
        self.top_k = lambda x, k: -np.sort(np.partition(-x, k)[:k])
        self.cholesky, self.solve = np.linalg.cholesky, np.linalg.solve
        self.qr, self.eigh, self.inverse = np.linalg.qr, np.linalg.eigh, np.linalg.inv
        self.fft = np.fft.fft

    def array(self, x):
        return self.np.ascontiguousarray(x).reshape(x.shape)

    def numpy(self, x):
        return self.np.asarray(x)

    def sigmoid(self, x):
        return 1 / (1 + self.np.exp(-x))

    def softplus(self, x):
        return self.np.logaddexp(x, self.np.zeros((), x.dtype))

    def logsumexp(self, x):
        top = x.max(1, keepdims=True)
        return self.np.log(self.np.exp(x - top).sum(1)) + top[:, 0]

    def softmax(self, x):
        e = self.np.exp(x - x.max(1, keepdims=True))
        return e / e.sum(1, keepdims=True)

    def transposed(self, x):
        return self.np.ascontiguousarray(x.T)  # alone, x.T would be the same memory read in another way

    def gradient(self, f):
        raise Absent("NumPy has no gradients")

    value_and_gradient = gradient

    def long_sum(self, x):
        return x.sum(dtype=self.np.int64)

    def count(self, x):
        return self.np.count_nonzero(x)

    def as_f32(self, x):
        return x.astype(self.np.float32)

    def at(self, x, index):
        return x[index]

    def one_more_at(self, x, index, values):
        out = x.copy()
        self.np.add.at(out, index, values)
        return out

    def uniform(self, state, n, dtype):
        return self.random.random(n, dtype=dtype)

    def normal(self, state, n, dtype):
        return self.random.standard_normal(n, dtype=dtype)

    def svd(self, x):
        return self.np.linalg.svd(x, full_matrices=False)[1]


class JAX(Peer):
    title = "JAX"

    def __init__(self, threads):
        import jax

        jax.config.update("jax_enable_x64", True)
        import jax.numpy as jnp

        self.jax, self.jnp, self.lax = jax, jnp, jax.lax
        self.version = jax.__version__
        for name in (
            "exp log tanh sin cos sqrt sum mean max maximum var where abs arange zeros zeros_like concatenate clip "
            "cumsum sort argsort argmax diag eye"
        ).split():
            setattr(self, name, getattr(jnp, name))
        self.sigmoid, self.softplus = jax.nn.sigmoid, jax.nn.softplus
        self.top_k = lambda x, k: jax.lax.top_k(x, k)[0]
        self.erf = jax.scipy.special.erf
        self.stop_gradient = jax.lax.stop_gradient
        self.cholesky, self.solve = jnp.linalg.cholesky, jnp.linalg.solve
        self.qr, self.eigh, self.inverse = jnp.linalg.qr, jnp.linalg.eigh, jnp.linalg.inv
        self.fft = jnp.fft.fft
        self.solve_lower = lambda a, b: jax.scipy.linalg.solve_triangular(a, b, lower=True)
        self.gradient = jax.grad
        self.value_and_gradient = jax.value_and_grad

    def array(self, x):
        return self.jnp.asarray(x)

    def numpy(self, x):
        import numpy as np

        return np.asarray(x)

    def compiled(self, f, carry):
        # A new function object, so that nothing compiled before is found again.
        return self.jax.jit(lambda *args: f(*args), donate_argnums=(0,) if carry else ())

    def wait(self, results):
        self.jax.block_until_ready(results)

    def forget(self):
        self.jax.clear_caches()

    def program(self, path):
        if path.endswith(".py"):
            module = runpy.run_path(path)
            return lambda m, *args: module["program"](*args)
        sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "tools"))
        from stablehlo_in_jax import Program

        with open(path, "rb") as file:
            whole = Program(file.read())
        return lambda m, *args: tuple(whole(*args))

    def loop(self, steps, body, state):
        return self.lax.fori_loop(0, steps, lambda i, s: tuple(body(i, *s)), tuple(state))

    def logsumexp(self, x):
        return self.jax.scipy.special.logsumexp(x, axis=1)

    def softmax(self, x):
        return self.jax.nn.softmax(x, axis=1)

    def transposed(self, x):
        return x.T

    def long_sum(self, x):
        return self.jnp.sum(x, dtype=self.jnp.int64)

    def count(self, x):
        return self.jnp.sum(x, dtype=self.jnp.int32)

    def as_f32(self, x):
        return x.astype(self.jnp.float32)

    def at(self, x, index):
        return x[index]

    def one_more_at(self, x, index, values):
        return x.at[index].add(values)

    def uniform(self, state, n, dtype):
        return self.jax.random.uniform(self.jax.random.key(state[0]), (n,), dtype)

    def normal(self, state, n, dtype):
        return self.jax.random.normal(self.jax.random.key(state[0]), (n,), dtype)

    def svd(self, x):
        return self.jnp.linalg.svd(x, full_matrices=False)[1]

    def conv(self, x, kernel):
        return self.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


class Torch(Peer):
    title = "PyTorch"

    def __init__(self, threads):
        import torch

        torch.set_num_threads(threads)
        self.torch = torch
        self.version = torch.__version__
        for name in (
            "exp log tanh sin cos sqrt sum mean maximum where abs arange zeros zeros_like clip erf diag eye "
            "argmax argsort"
        ).split():
            setattr(self, name, getattr(torch, name))
        self.sigmoid, self.softplus = torch.sigmoid, torch.nn.functional.softplus
        self.cholesky, self.solve = torch.linalg.cholesky, torch.linalg.solve
        self.qr, self.eigh, self.inverse = torch.linalg.qr, torch.linalg.eigh, torch.linalg.inv
        self.fft = torch.fft.fft
        self.solve_lower = lambda a, b: torch.linalg.solve_triangular(a, b, upper=False)

    def array(self, x):
        import numpy as np

        # It has no uint64, in which only states of anvil's random numbers come.
        return self.torch.from_numpy(np.array(x, np.int64 if x.dtype == np.uint64 else x.dtype, order="C"))

    def numpy(self, x):
        return x.detach().numpy()

    def max(self, x, axis=None, keepdims=False):
        return x.max() if axis is None else self.torch.amax(x, axis, keepdims)

    def var(self, x):
        return self.torch.var(x, unbiased=False)

    def stop_gradient(self, x):
        return x.detach()

    def gradient(self, f):
        def of(ws, *args):
            ws = [w.detach().requires_grad_() for w in ws]
            return self.torch.autograd.grad(f(ws, *args), ws)

        return of

    def value_and_gradient(self, f):
        def of(ws, *args):
            ws = [w.detach().requires_grad_() for w in ws]
            value = f(ws, *args)
            return value.detach(), self.torch.autograd.grad(value, ws)

        return of

    def logsumexp(self, x):
        return self.torch.logsumexp(x, 1)

    def softmax(self, x):
        return self.torch.softmax(x, 1)

    def transposed(self, x):
        return x.t().contiguous()

    def long_sum(self, x):
        return x.sum()

    def count(self, x):
        return self.torch.count_nonzero(x)

    def as_f32(self, x):
        return x.to(self.torch.float32)

    def at(self, x, index):
        return self.torch.index_select(x, 0, index)

    def one_more_at(self, x, index, values):
        return x.index_add(0, index, values)

    def cumsum(self, x):
        return self.torch.cumsum(x, 0)

    def sort(self, x):
        return self.torch.sort(x).values

    def top_k(self, x, k):
        return self.torch.topk(x, k).values

    def uniform(self, state, n, dtype):
        return self.torch.rand(n, dtype=getattr(self.torch, dtype))

    def normal(self, state, n, dtype):
        return self.torch.randn(n, dtype=getattr(self.torch, dtype))

    def svd(self, x):
        return self.torch.linalg.svd(x, full_matrices=False).S

    def conv(self, x, kernel):
        # Its channels come first, and features in front of the channels of a kernel.
        out = self.torch.nn.functional.conv2d(x.permute(0, 3, 1, 2), kernel.permute(3, 2, 0, 1), padding="same")
        return out.permute(0, 2, 3, 1)


PEERS = {"numpy": NumPy, "jax": JAX, "torch": Torch}


def leaves(results):
    if isinstance(results, (tuple, list)):
        return [leaf for part in results for leaf in leaves(part)]
    return [results]


def difference(np, mine, theirs, mode):
    """Largest difference of two results, relative to their size. Of random numbers only the moments can agree."""
    mine, theirs = np.squeeze(mine), np.squeeze(theirs)
    if mine.shape != theirs.shape:
        raise ValueError(f"shape {mine.shape}, anvil has {theirs.shape}")
    # XLA and PyTorch may flush what is below the smallest normal number.
    least = np.finfo(theirs.dtype).tiny if np.issubdtype(theirs.dtype, np.floating) else 0
    mine, theirs = [np.where(np.abs(x) < least, 0, x).astype(np.float64) for x in (mine, theirs)]
    if mode == "moments":
        return max(abs(mine.mean() - theirs.mean()), abs(mine.std() - theirs.std()))
    if mine.size == 0:
        return 0.0
    same = (mine == theirs) | (np.isnan(mine) & np.isnan(theirs))
    with np.errstate(all="ignore"):
        scale = np.abs(theirs) + np.mean(np.abs(theirs))
        apart = np.where(same, 0, np.abs(mine - theirs) / scale)
    return float(np.max(np.where(np.isnan(apart), np.inf, apart)))


def constant(text):
    if text in ("f32", "f64"):
        return "float" + text[1:]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


class Workload:
    def __init__(self, peer, f, arguments, carry, times, alone):
        import numpy as np

        self.np, self.peer, self.carry = np, peer, carry
        constants = {i: constant(a[1:]) for i, a in enumerate(arguments) if a.startswith("=")}
        paths = [a for a in arguments if not a.startswith("=")]
        self.read = lambda: [peer.array(np.load(path)) for path in paths]

        def whole(*arrays):
            rest = iter(arrays)
            return f(peer, *[constants[i] if i in constants else next(rest) for i in range(len(arguments))])

        seconds = []
        for _ in range(times):
            self.arrays = self.read()
            peer.wait(self.arrays)
            if alone:  # what is forgotten is what others have compiled, too
                peer.forget()
            start = time.perf_counter()
            self.call = peer.compiled(whole, carry)
            self.results = self.call(*self.arrays)
            peer.wait(self.results)
            seconds.append(time.perf_counter() - start)
        self.cold = statistics.median(seconds)

    def check(self, mode, paths):
        mine = leaves(self.results)
        if len(mine) != len(paths):
            raise ValueError(f"{len(mine)} results, anvil has {len(paths)}")
        worst = max(
            difference(self.np, self.peer.numpy(x), self.np.load(path), mode) for x, path in zip(mine, paths)
        )
        # From here on results come and go.
        self.results = None
        if self.carry:
            self.arrays = self.read()
        return worst

    def time(self, n):
        call, arrays, wait = self.call, self.arrays, self.peer.wait
        if self.carry:
            first, rest = arrays[0], arrays[1:]
            arrays[0] = None
            start = clock()
            for _ in range(n):
                first = call(first, *rest)
                wait(first)
            seconds = clock() - start
            arrays[0] = first
            return seconds
        start = clock()
        for _ in range(n):
            wait(call(*arrays))
        return clock() - start


def answer(peer, state, fields):
    what, rest = fields[0], fields[1:]
    name = state.get("name", "")
    workloads = state.setdefault("workloads", {})
    if what == "use":
        state["name"] = rest[0]
        return ""
    if what == "load":
        workloads.pop(name, None)
        f = peer.program(rest[0]) if "." in rest[0] else peer_workloads.find(rest[0], peer)
        workloads[name] = Workload(peer, f, rest[3:], rest[1] == "1", int(rest[2]), not name)
        return repr(workloads[name].cold)
    if what == "check":
        return repr(float(workloads[name].check(rest[0], rest[1:])))
    if what == "time":
        return repr(workloads[name].time(int(rest[0])))
    if what == "drop":
        state.clear()
        peer.forget()
        return ""
    raise ValueError(f"unknown command {what}")


def main():
    name, port, token, threads = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
    with socket.create_connection(("127.0.0.1", port)) as connection:
        lines = connection.makefile("rw", encoding="utf-8", newline="\n")

        def say(*fields):
            lines.write("\t".join(" ".join(str(field).split()) for field in fields) + "\n")
            lines.flush()

        try:
            limit_threads(threads)
            peer = PEERS[name](threads)
        except Exception as error:
            return say("absent", token, error)
        say("ok", token, peer.version)
        state = {}
        for line in lines:
            try:
                say("ok", answer(peer, state, line.rstrip("\n").split("\t")))
            except Absent as error:
                say("absent", error)
            except Exception as error:  # a workload that fails is a gap in the table, and the next may succeed
                say("error", f"{type(error).__name__}: {error}"[:300])


if __name__ == "__main__":
    main()
