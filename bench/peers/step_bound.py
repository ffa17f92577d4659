#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times what a training step of the model d4 on one row of 2048 tokens cannot do without: the
matrix products, the attention and Muon's products, with PyTorch's operators, on one thread. Both
Curtail and PyTorch call these operators. Prints one line of JSON with medians in seconds."""
import json
import statistics
import time

import torch
import torch.nn.functional as F

TOKENS, WIDTH, VOCABULARY, LAYERS, HEADS = 2048, 256, 4096, 4, 2


def seconds(body, repeats=7):
    body()
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        body()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def product(inputs, outputs):
    """Forward, and both derivatives."""
    x, w = torch.randn(TOKENS, inputs), torch.randn(outputs, inputs)
    dy, dw = torch.randn(TOKENS, outputs), torch.zeros(outputs, inputs)
    return (seconds(lambda: x @ w.t()) + seconds(lambda: dy @ w) +
            seconds(lambda: dw.addmm_(dy.t(), x)))


def attention():
    shape = (1, HEADS, TOKENS, WIDTH // HEADS)
    q, k, v = (torch.randn(shape).requires_grad_() for _ in range(3))
    dy = torch.randn(shape)
    return seconds(lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True).backward(dy))


def muon(count, rows, columns):
    start = torch.randn(count, rows, columns)

    def iteration():
        x = start
        for _ in range(5):
            gram = x @ x.mT
            x = torch.baddbmm(x, gram @ gram, x)

    return seconds(iteration, 3)


def main():
    torch.set_num_threads(1)
    layer = sum(product(a, b) for a, b in ((WIDTH, 3 * WIDTH), (WIDTH, WIDTH), (WIDTH, 4 * WIDTH),
                                           (4 * WIDTH, WIDTH)))
    parts = {"layers_s": LAYERS * layer, "head_s": product(WIDTH, VOCABULARY),
             "attention_s": LAYERS * attention(),
             "muon_s": muon(4 * LAYERS, WIDTH, WIDTH) + muon(2 * LAYERS, WIDTH, 4 * WIDTH)}
    print(json.dumps({**parts, "total_s": sum(parts.values())}))


if __name__ == "__main__":
    main()
