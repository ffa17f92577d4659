#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times training steps of nanochat's GPT in PyTorch, as a peer for Curtail's trainer.

The model and both optimizers follow docs/model.md. Needs PyTorch 2.11 with its dependencies, which
Curtail itself does not need: pip install torch==2.11.0 numpy. Prints one line of JSON with the
median time of each part of a step in seconds.

    gpt_step.py --depth 4 --vocabulary 4096 --sequence 256 --rows 8
    gpt_step.py --depth 20 --rows 32 --device cuda --compile
"""
import argparse
import json
import math
import statistics
import sys
import time

import torch
import torch.nn.functional as F

POLAR_EXPRESS = [
    (8.156554524902461, -22.48329292557795, 15.878769915207462),
    (4.042929935166739, -2.808917465908714, 0.5000178451051316),
    (3.8916678022926607, -2.772484153217685, 0.5060648178503393),
    (3.285753657755655, -2.3681294933425376, 0.46449024233003106),
    (2.3465413258596377, -1.7097828382687081, 0.42323551169305323),
]


def head_size(width):
    target = max(1, round(width / 128))
    for distance in range(width):
        for heads in (target + distance, target - distance):
            if heads > 0 and width % heads == 0:
                return width // heads
    return width


def norm(x):
    return F.rms_norm(x, (x.size(-1),))


class Gpt(torch.nn.Module):
    def __init__(self, depth, sequence, vocabulary):
        super().__init__()
        width = 64 * depth
        self.head_size = head_size(width)
        linear = lambda rows, columns: torch.nn.Linear(columns, rows, bias=False)
        self.embedding = torch.nn.Embedding(vocabulary, width)
        self.layers = torch.nn.ModuleList()
        for _ in range(depth):
            self.layers.append(torch.nn.ModuleDict({
                "q": linear(width, width), "k": linear(width, width), "v": linear(width, width),
                "out": linear(width, width), "fc": linear(4 * width, width),
                "proj": linear(width, 4 * width)}))
        self.head = linear(vocabulary, width)
        self.resid = torch.nn.Parameter(torch.ones(depth))
        self.x0 = torch.nn.Parameter(torch.full((depth,), 0.1))
        torch.nn.init.normal_(self.head.weight, std=0.02)
        frequencies = 10000.0 ** (-torch.arange(0, self.head_size, 2) / self.head_size)
        angles = torch.outer(torch.arange(sequence), frequencies)[None, :, None, :]
        self.register_buffer("cos", angles.cos().bfloat16())
        self.register_buffer("sin", angles.sin().bfloat16())

    def rotate(self, x):
        half = x.size(-1) // 2
        x1, x2 = x[..., :half], x[..., half:]
        cos, sin = self.cos.to(x.dtype), self.sin.to(x.dtype)
        return torch.cat([x1 * cos + x2 * sin, x2 * cos - x1 * sin], 3)

    def attention(self, layer, x):
        heads = lambda y: y.view(*x.shape[:2], -1, self.head_size)
        q = norm(self.rotate(heads(layer["q"](x)))).transpose(1, 2)
        k = norm(self.rotate(heads(layer["k"](x)))).transpose(1, 2)
        v = heads(layer["v"](x)).transpose(1, 2)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return layer["out"](y.transpose(1, 2).reshape(x.shape))

    def forward(self, tokens, targets):
        x0 = x = norm(self.embedding(tokens))
        for i, layer in enumerate(self.layers):
            x = self.resid[i] * x + self.x0[i] * x0
            x = x + self.attention(layer, norm(x))
            x = x + layer["proj"](F.relu(layer["fc"](norm(x))).square())
        logits = 15 * torch.tanh(self.head(norm(x)).float() / 15)
        return F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))


class Muon:
    """Muon over stacks of equal matrices."""

    def __init__(self, matrices, products, compiled=False):
        self.products = products
        # Only a function that gets the gradients as arguments can be compiled.
        self.update = torch.compile(self.update, dynamic=False) if compiled else self.update
        self.stacks = {}
        for matrix in matrices:
            self.stacks.setdefault(matrix.shape, []).append(matrix)
        self.state = {}
        for shape, members in self.stacks.items():
            momentum = torch.zeros(len(members), *shape, device=members[0].device)
            second = momentum[:, :, :1] if shape[0] >= shape[1] else momentum[:, :1, :]
            self.state[shape] = (momentum, second.clone())

    @torch.no_grad()
    def step(self):
        for shape, members in self.stacks.items():
            weights = torch.stack(members)
            self.update(weights, torch.stack([m.grad for m in members]), *self.state[shape])
            torch._foreach_copy_(members, list(weights.unbind(0)))

    def update(self, weights, gradient, buffer, second, rate=0.02, momentum=0.9, decay=0.1):
        rows, columns = weights.shape[1:]
        buffer.lerp_(gradient, 1 - momentum)
        x = self.polar(gradient.lerp(buffer, momentum))
        along = -1 if rows >= columns else -2
        mean = x.float().square().mean(along, keepdim=True)
        before = (mean.sum((-2, -1), keepdim=True) * x.size(along)).sqrt()
        second.lerp_(mean, 0.05)
        scale = second.clamp_min(1e-10).rsqrt()
        after = (mean * x.size(along) * scale.square()).sum((-2, -1), keepdim=True).sqrt()
        x = x * (scale * (before / after.clamp_min(1e-10))).to(x.dtype)
        lr = rate * math.sqrt(max(1, rows / columns))
        mask = (x * weights) >= 0
        weights.sub_(lr * x + lr * decay * weights * mask)

    def polar(self, x):
        x = x.to(self.products)
        tall = x.size(-2) > x.size(-1)
        if tall:
            x = x.mT
        x = x / (x.norm(dim=(-2, -1), keepdim=True) * 1.02 + 1e-6)
        for a, b, c in POLAR_EXPRESS:
            gram = x @ x.mT
            x = a * x + (b * gram + c * (gram @ gram)) @ x
        return x.mT if tall else x


def make_step(options):
    torch.manual_seed(1)
    device = options.device
    model = Gpt(options.depth, options.sequence, options.vocabulary).to(device)
    on_gpu = device == "cuda"
    if on_gpu:
        model.embedding.bfloat16()
    matrices = [m.weight for layer in model.layers for m in layer.values()]
    muon = Muon(matrices, torch.bfloat16 if on_gpu else torch.float32, options.compile)
    adamw = torch.optim.AdamW(
        [model.embedding.weight, model.head.weight, model.resid, model.x0], lr=0.001,
        betas=(0.8, 0.95), eps=1e-10, weight_decay=0, fused=True)
    loss_of = torch.compile(model, dynamic=False) if options.compile else model
    shape = (options.accumulation, options.rows, options.sequence + 1)
    tokens = torch.randint(options.vocabulary, shape, device=device)

    def wait():
        if on_gpu:
            torch.cuda.synchronize()
        return time.perf_counter()

    def step():
        started = wait()
        for batch in tokens:
            with torch.autocast(device, torch.bfloat16, enabled=on_gpu):
                loss = loss_of(batch[:, :-1].contiguous(), batch[:, 1:].contiguous())
            (loss / options.accumulation).backward()
        passed = wait()
        muon.step()
        adamw.step()
        model.zero_grad(set_to_none=True)
        return passed - started, wait() - passed

    return step


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--depth", type=int, default=4)
    parser.add_argument("--vocabulary", type=int, default=65536)
    parser.add_argument("--sequence", type=int, default=2048, help="tokens in a row")
    parser.add_argument("--rows", type=int, default=8, help="rows of a micro-batch")
    parser.add_argument("--accumulation", type=int, default=1, help="micro-batches of a step")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--compile", action="store_true", help="use torch.compile")
    parser.add_argument("--warmup", type=int, default=3, help="steps that are not measured")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--serve", action="store_true",
                        help="print a line after the warm-up; then measure as many steps as each "
                        "line of standard input says")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    if options.device == "cuda":
        torch.set_float32_matmul_precision("high")
    step = make_step(options)
    for _ in range(options.warmup):
        step()
    if not options.serve:
        print(json.dumps(measure(step, options.steps)))
        return
    release()
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        print(json.dumps(measure(step, int(line))), flush=True)
        release()


def measure(step, count):
    passes, updates = zip(*(step() for _ in range(count)))
    total = [a + b for a, b in zip(passes, updates)]
    result = {"step_s": statistics.median(total), "passes_s": statistics.median(passes),
              "optimizer_s": statistics.median(updates), "torch": torch.__version__}
    if torch.cuda.is_available():
        result["peak_bytes"] = torch.cuda.max_memory_allocated()
    return result


def release():
    """Leaves the memory of the GPU to another process until the next step."""
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
