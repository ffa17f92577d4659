#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the model of a run file in the reference's Python, and writes its loss curve.

The reference is the prototype of arXiv:2602.22760, github.com/exalsius/curtail-llm. This program
imports the prototype's model and Muon, and executes the statements of its scripts/base_train.py
that set rates, schedules and optimizers. The initial weights come from a snapshot of curtail-train,
and the batches are those of the run file's data in Curtail's order. Both sides compute in float32.

The reference's Muon casts to bfloat16. The run file must set optimizer.muon_precision to float32 or
leave it out; this program turns that one cast into an identity while Muon steps. Nothing else of
the reference is changed. torch.compile is off, and there is no gradient accumulation.

With --adamw-rate, AdamW trains the matrices of the layers too, with that learning rate (times the
schedule's factor) and the other settings of the reference's AdamW.

Needs: pip install torch==2.11.0 numpy h5py filelock

    git clone https://github.com/exalsius/curtail-llm REFERENCE
    reference_curve.py REFERENCE RUN.json snapshot-a.0of1.h5 muon.csv
    reference_curve.py REFERENCE RUN.json snapshot-a.0of1.h5 adamw.csv --adamw-rate 0.001

Writes OUT (step, tokens, loss) while it trains, and then OUT with the suffix .json: the settings,
versions and seconds."""
import argparse
import ast
import contextlib
import csv
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from unittest import mock

os.environ["TORCHDYNAMO_DISABLE"] = "1"  # before torch is imported: makes torch.compile an identity

import h5py
import numpy
import torch

# What scripts/base_train.py binds on its way from the command line to the optimizers.
SETTINGS = {"parser", "args", "num_layers", "model_dim", "find_num_heads", "num_heads",
            "num_kv_heads", "batch_lr_scale", "reference_batch_size", "batch_ratio",
            "weight_decay_scaled", "model_config_kwargs"}
OPTIMIZERS = {"num_iterations", "adam_betas", "optimizers", "get_lr_multiplier",
              "get_muon_momentum", "get_weight_decay"}


def read_json(path):
    """A file of Curtail: JSON in which a line may be a comment."""
    lines = Path(path).read_text().splitlines()
    return json.loads("\n".join(line for line in lines if not line.lstrip().startswith("//")))


class Run:
    """The settings of a run file that determine a training without a store."""

    def __init__(self, path):
        folder = Path(path).parent
        run = read_json(path)
        model = read_json(folder / run["model"])
        self.depth, self.sequence = model["depth"], model.get("sequence", 2048)
        self.vocabulary = model.get("vocabulary", 65536)
        self.batch_tokens = run["training"]["batch_tokens"]
        self.steps = run["training"]["tokens"] // self.batch_tokens
        optimizer = run.get("optimizer", {})
        self.lr_scale = optimizer.get("lr_scale", (self.batch_tokens / 2**19) ** 0.5)
        self.data = folder / run["data"]["folder"]
        self.options = {"warmdown_ratio": optimizer.get("warmdown", 0.4),
                        "final_lr_frac": optimizer.get("final_lr", 0.0),
                        "weight_decay": optimizer.get("weight_decay", 0.2)}
        self.check(run["training"], optimizer)

    @staticmethod
    def check(training, optimizer):
        schedule = optimizer.get("schedule_tokens", training["tokens"])
        if schedule != training["tokens"] or schedule % training["batch_tokens"] != 0:
            raise SystemExit("the budget and the schedule must be the same number of whole steps")
        if training.get("precision", "fp32") != "fp32" \
                or optimizer.get("muon_precision", "float32") != "float32":
            raise SystemExit("the run must compute in float32, Muon's products included")


def batches(run):
    """Inputs and targets of each step (docs/formats-data.md, "Blocks and rows")."""
    manifest = json.loads((run.data / "manifest.json").read_text())
    shards = [h5py.File(run.data / shard["file"])["tokens"][:]
              for shard in manifest["train"]["shards"]]
    tokens = torch.from_numpy(numpy.concatenate(shards).astype(numpy.int64))
    if len(tokens) <= run.steps * run.batch_tokens:
        raise SystemExit(f"{run.data} has too few tokens for one pass")
    for step in range(run.steps):
        first = step * run.batch_tokens
        rows = tokens[first:first + run.batch_tokens + 1]
        yield rows[:-1].view(-1, run.sequence), rows[1:].view(-1, run.sequence)


def weights_of(snapshot):
    """The weights in a snapshot of one rank (docs/formats-snapshot.md)."""
    with h5py.File(snapshot) as file:
        if file.attrs["ranks"] != 1:
            raise SystemExit(f"{snapshot} holds only a part: train with one rank")
        return {name: torch.from_numpy(item[:]) for name, item in file["weights"].items()}


def bound_names(statement):
    """The names that a statement of a script binds, also in the branches of a condition."""
    if isinstance(statement, ast.FunctionDef):
        return {statement.name}
    if isinstance(statement, ast.Assign):
        return {node.id for target in statement.targets for node in ast.walk(target)
                if isinstance(node, ast.Name)}
    if isinstance(statement, ast.If):
        parts = [bound_names(part) for part in statement.body + statement.orelse]
        return set().union(*parts)
    return set()


def execute(script, names, scope):
    """Executes those statements of a script that bind one of the names or declare an option."""
    chosen = [statement for statement in ast.parse(script.read_text()).body
              if bound_names(statement) & names or "parser" in names
              and ast.unparse(statement).startswith("parser.add_argument(")]
    missing = names - set().union(*map(bound_names, chosen))
    if missing:
        raise SystemExit(f"{script} does not bind {', '.join(sorted(missing))}")
    exec(compile(ast.Module(chosen, []), str(script), "exec"), scope)


def command_line(run):
    """The options of scripts/base_train.py. Its rates are for 2^19 tokens; it scales them with the
    root of the batch, so what remains of the run's lr_scale multiplies the rates."""
    share = run.lr_scale / (run.batch_tokens / 2**19) ** 0.5
    rates = {"embedding_lr": 0.3, "unembedding_lr": 0.004, "matrix_lr": 0.02, "scalar_lr": 0.5}
    options = {"depth": run.depth, "max_seq_len": run.sequence, "window_pattern": "L",
               "num_iterations": run.steps, "total_batch_size": run.batch_tokens,
               "device_batch_size": run.batch_tokens // run.sequence, **run.options,
               **({name: rate * share for name, rate in rates.items()} if share != 1 else {})}
    return [f"--{name}={value}" for name, value in options.items()]


class Reference:
    """The reference's model, optimizers and schedules for a run."""

    def __init__(self, folder, run, snapshot):
        sys.path.insert(0, str(folder))
        from nanochat.gpt import GPT, GPTConfig
        script = folder / "scripts/base_train.py"
        scope = {"argparse": argparse, "print0": print, "vocab_size": run.vocabulary}
        with mock.patch.object(sys, "argv", [str(script), *command_line(run)]):
            execute(script, SETTINGS, scope)
        scope["model"] = self.model = GPT(GPTConfig(**scope["model_config_kwargs"]))
        self.model.init_weights()  # also computes the tables of the rotation
        self.model.load_state_dict(weights_of(snapshot), strict=True)
        execute(script, OPTIMIZERS, scope)
        self.options = vars(scope["args"])  # of scripts/base_train.py
        self.adamw, self.matrices = scope["optimizers"]
        self.betas = scope["adam_betas"]
        self.lr_factor = scope["get_lr_multiplier"]
        self.momentum, self.weight_decay = scope["get_muon_momentum"], scope["get_weight_decay"]
        self.cast = identity_cast

    def use_adamw(self, rate):
        """Replaces Muon by the AdamW that GPT.setup_optimizers() makes for the other groups."""
        self.matrices = torch.optim.AdamW(self.model.transformer.h.parameters(), lr=rate,
                                          betas=self.betas, eps=1e-10, weight_decay=0.0, fused=True)
        for group in self.matrices.param_groups:
            group["initial_lr"] = group["lr"]
        self.cast = contextlib.nullcontext

    def step(self, at, inputs, targets):
        """One step as in scripts/base_train.py; returns the loss before it."""
        loss = self.model(inputs, targets)
        loss.backward()
        for optimizer in (self.adamw, self.matrices):
            for group in optimizer.param_groups:
                group["lr"] = group["initial_lr"] * self.lr_factor(at)
        for group in self.matrices.param_groups:
            if "momentum" in group:
                group["momentum"] = self.momentum(at)
                group["weight_decay"] = self.weight_decay(at)
        self.adamw.step()
        with self.cast():
            self.matrices.step()
        self.model.zero_grad(set_to_none=True)
        return loss.item()

    def precisions(self):
        """The types of the matrices' optimizer state. Muon's second moment has the type of its
        products."""
        states = self.matrices.state.values()
        return sorted({str(tensor.dtype) for state in states for tensor in state.values()})


def identity_cast():
    return mock.patch.object(torch.Tensor, "bfloat16", lambda tensor: tensor)


def commit_of(folder):
    return subprocess.run(["git", "-C", str(folder), "rev-parse", "HEAD"], check=True,
                          capture_output=True, text=True).stdout.strip()


def train(reference, run, out, steps):
    with out.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("step", "tokens", "loss"))
        for at, (inputs, targets) in enumerate(batches(run)):
            if at == steps:
                break
            loss = reference.step(at, inputs, targets)
            writer.writerow((at + 1, (at + 1) * run.batch_tokens, f"{loss:.7f}"))
            file.flush()
            print(f"step {at + 1} of {run.steps}  loss {loss:.6f}", flush=True)


def main():
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=formatter)
    parser.add_argument("reference", type=Path, metavar="REFERENCE", help="clone of the reference")
    parser.add_argument("run", type=Path, metavar="RUN", help="run file of Curtail")
    parser.add_argument("snapshot", type=Path, metavar="SNAPSHOT",
                        help="snapshot of one rank, with the initial weights")
    parser.add_argument("out", type=Path, metavar="OUT", help="CSV file to write")
    parser.add_argument("--adamw-rate", type=float, metavar="RATE",
                        help="train the matrices with AdamW at this learning rate")
    parser.add_argument("--steps", type=int, help="stop after so many steps of the schedule")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    run = Run(options.run)
    reference = Reference(options.reference.resolve(), run, options.snapshot)
    if options.adamw_rate is not None:
        reference.use_adamw(options.adamw_rate)
    rates = [group["initial_lr"] for group in reference.matrices.param_groups]
    started = time.perf_counter()
    train(reference, run, options.out, options.steps)
    if reference.precisions() != ["torch.float32"]:
        raise SystemExit(f"the reference computed in {reference.precisions()}")
    report = {"reference": commit_of(options.reference), "torch": torch.__version__,
              "python": sys.version.split()[0], "threads": options.threads,
              "matrices": type(reference.matrices).__name__, "matrices_rate": rates[0],
              "seconds": round(time.perf_counter() - started), "options": reference.options}
    options.out.with_suffix(".json").write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
