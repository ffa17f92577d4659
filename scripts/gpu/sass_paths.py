# SPDX-License-Identifier: Apache-2.0
"""Reads what `cuobjdump -sass -res-usage` prints, and finds the paths through the loops of each
kernel. sass.py uses it."""
import re
from dataclasses import dataclass

FUNCTION = re.compile(r"^\s*Function : (\S+)")
RESOURCES = re.compile(r"^ Function (\S+):\n\s+REG:(\d+) STACK:(\d+).* LOCAL:(\d+)", re.MULTILINE)
INSTRUCTION = re.compile(
    r"^\s*/\*([0-9a-f]{4,})\*/\s+(?:@(!?U?P\w+)\s+)?([A-Z][A-Z0-9_.]*)\s*([^;]*?)\s*;")
INDIRECT = ("BRX", "BRXU", "JMP", "JMX", "JMXU")
WIDTHS = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16}


class Unreadable(Exception):
    """The text is not a disassembly that this module understands."""


@dataclass(frozen=True)
class Instruction:
    address: int
    predicate: str  # an empty one: the instruction is always executed
    words: tuple[str, ...]  # the name and its modifiers: LDG.E.128 is ("LDG", "E", "128")
    operands: str

    def loads(self):
        """Bytes of global memory that a thread loads. LD has a generic address."""
        return self.bytes() if self.words[0] in ("LDG", "LD") else 0

    def stores(self):
        return self.bytes() if self.words[0] in ("STG", "ST") else 0

    def bytes(self):
        return next((WIDTHS[word] for word in self.words if word in WIDTHS), 4)


@dataclass(frozen=True)
class Path:
    """The fast path of one iteration of a loop, or of a kernel without a loop."""
    address: int
    loads: int  # of 16 bytes
    stores: int
    functions: int  # exponentials, reciprocals and roots
    instructions: int


class Kernel:
    def __init__(self, symbol, instructions, resources):
        self.symbol = symbol
        self.instructions = instructions
        self.registers, self.stack, self.local = resources
        self.spills = sum(i.words[0] in ("LDL", "STL") for i in instructions)
        self.load = max((i.loads() for i in instructions), default=0)
        self.store = max((i.stores() for i in instructions), default=0)
        self.next = successors(instructions)

    def paths(self):
        """The fast path of every loop with a load of 16 bytes; without one, that of the kernel."""
        loops = natural_loops(self.next)
        backward = {(end, start) for start, ends in loops.items() for end in ends}
        found = [self.fast_path(start, ends, loop_body(self.next, start, ends), backward)
                 for start, ends in sorted(loops.items())]
        found = [path for path in found if path and path.loads]
        if not found:
            everything = reachable(self.next, 0)
            ends = {i for i in everything if self.instructions[i].words[0] == "EXIT"}
            found = [self.fast_path(0, ends, everything, backward)]
        return [path for path in found if path]

    def fast_path(self, start, ends, body, backward):
        """The path that does the most work, and of these the shortest. A lane whose pack is partly
        padding, or that has none, skips accesses or functions."""
        def cost(index):
            instruction = self.instructions[index]
            load = instruction.loads() == 16
            store = instruction.stores() == 16
            function = instruction.words[0] == "MUFU"
            return (-load - store, -function, 1, load, store)

        best = {start: cost(start)}
        for index in in_order(self.next, start, body, backward):
            for after in self.next[index]:
                if after not in body or (index, after) in backward:
                    continue
                sums = tuple(map(sum, zip(best[index], cost(after))))
                best[after] = min(best.get(after, sums), sums)
        of_ends = [best[end] for end in ends if end in best]
        if not of_ends:
            return None
        _, functions, length, loads, stores = min(of_ends)
        return Path(self.instructions[start].address, loads, stores, -functions, length)


def successors(instructions):
    """For each instruction, the indices of those that may follow it. No path leads through a call:
    the kernels' only calls are the slow paths of divisions and roots."""
    indices = {instruction.address: i for i, instruction in enumerate(instructions)}
    found = []
    for i, instruction in enumerate(instructions):
        name = instruction.words[0]
        after = [i + 1] if i + 1 < len(instructions) else []
        if name in INDIRECT:
            raise Unreadable(f"indirect branch at {instruction.address:#x}")
        if name == "BRA":
            target = re.search(r"0x([0-9a-f]+)$", instruction.operands)
            if not target or int(target[1], 16) not in indices:
                raise Unreadable(f"branch without a target at {instruction.address:#x}")
            # A second condition stands before the target: BRA.DIV UR5, 0xe20
            conditional = instruction.predicate or "," in instruction.operands
            after = [indices[int(target[1], 16)]] + (after if conditional else [])
        elif name in ("EXIT", "RET", "CALL", "KILL"):
            after = after if instruction.predicate else []
        found.append(after)
    return found


def reachable(graph, start, without=None):
    seen = set()
    waiting = [start]
    while waiting:
        index = waiting.pop()
        if index not in seen and index != without:
            seen.add(index)
            waiting += graph[index]
    return seen


def natural_loops(graph):
    """Start of each loop -> its ends. Every path to an end leads through the start, which tells a
    loop from code that was moved to the end of the kernel and jumps back."""
    loops = {}
    for end in reachable(graph, 0):
        for start in graph[end]:
            if start <= end and end not in reachable(graph, 0, without=start):
                loops.setdefault(start, set()).add(end)
    return loops


def loop_body(graph, start, ends):
    before = {}
    for index in reachable(graph, 0):
        for after in graph[index]:
            before.setdefault(after, []).append(index)
    body = {start}
    waiting = list(ends)
    while waiting:
        index = waiting.pop()
        if index not in body:
            body.add(index)
            waiting += before[index]
    return body


def in_order(graph, start, body, backward):
    """The instructions of a body, each after all those that lead to it."""
    ordered = []
    seen = {start}
    stack = [(start, iter(graph[start]))]
    while stack:
        index, rest = stack[-1]
        for after in rest:
            if after in body and after not in seen and (index, after) not in backward:
                seen.add(after)
                stack.append((after, iter(graph[after])))
                break
        else:
            ordered.append(index)
            stack.pop()
    return ordered[::-1]


def kernels_of(text):
    """The kernels of a disassembly. Raises Unreadable."""
    resources = {match[1]: tuple(map(int, match.groups()[1:])) for match in
                 RESOURCES.finditer(text)}
    code = {}
    instructions = None
    for line in text.splitlines():
        function = FUNCTION.match(line)
        instruction = INSTRUCTION.match(line)
        if function:
            instructions = code.setdefault(function[1], [])
        elif instruction and instructions is not None:
            address, predicate, name, operands = instruction.groups()
            instructions.append(Instruction(int(address, 16), predicate or "",
                                            tuple(name.split(".")), operands))
    if not code:
        raise Unreadable("it has no kernel")
    for symbol, found in code.items():
        if not found or symbol not in resources:
            raise Unreadable(f"{symbol} has no code or no resource usage")
    return [Kernel(symbol, found, resources[symbol]) for symbol, found in code.items()]
