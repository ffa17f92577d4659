#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times the softcapped cross entropy and its derivatives in PyTorch's eager mode, as a peer for
Curtail's head. Prints one line of JSON: the median time in seconds and the peak memory in MiB.

    head_loss.py logits     the cross entropy of given logits
    head_loss.py head       the head, from its input to its loss
"""
import json
import resource
import statistics
import sys
import time

import torch
import torch.nn.functional as F

TOKENS, VOCABULARY, WIDTH, REPEATS = 4096, 65536, 256, 5


def peak_mib():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def loss_of(logits, target):
    return F.cross_entropy(15 * torch.tanh(logits / 15), target)


def main():
    torch.set_num_threads(1)
    torch.manual_seed(1)
    target = torch.randint(VOCABULARY, (TOKENS,))
    before = peak_mib()
    if sys.argv[1:] == ["logits"]:
        inputs = [torch.randn(TOKENS, VOCABULARY, requires_grad=True)]
        forward = lambda: loss_of(inputs[0], target)
    else:
        inputs = [torch.randn(TOKENS, WIDTH, requires_grad=True),
                  torch.randn(VOCABULARY, WIDTH).mul_(0.02).requires_grad_()]
        forward = lambda: loss_of(inputs[0] @ inputs[1].T, target)
    times = []
    for _ in range(REPEATS):
        for tensor in inputs:
            tensor.grad = None
        started = time.perf_counter()
        forward().backward()
        times.append(time.perf_counter() - started)
    print(json.dumps({"seconds": statistics.median(times), "memory_mib": peak_mib() - before}))


if __name__ == "__main__":
    main()
