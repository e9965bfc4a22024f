"""What can be broken in a compiled function, one place at a time.

Only what a tick computes with counts: functions that are compiled (``@kernel``), and the numbers
of a `constants.py`. Places where a break would only crash (an index of a literal) are left out,
since any test at all would find those.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

OPPOSITE: dict[type[ast.cmpop], str] = {
    ast.Lt: ">=", ast.LtE: ">", ast.Gt: "<=", ast.GtE: "<", ast.Eq: "!=", ast.NotEq: "==",
}  # fmt: skip
OTHER_END = {"min": "max", "max": "min"}


class Mutant(NamedTuple):
    """One place of one file, and what stands there instead."""

    file: str  # below the package
    line: int
    start: int  # [bytes] of the file
    end: int
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}  {brief(self.old)} -> {brief(self.new)}"

    def key(self, source: bytes) -> str:
        """What stays the same when lines move: the whole line, and what is exchanged in it."""
        line = source.splitlines()[self.line - 1].decode()
        return f"{self.file}: {brief(line)}: {brief(self.old)} -> {brief(self.new)}"

    def applied(self, source: bytes) -> bytes:
        """The source with this break in it."""
        assert source[self.start : self.end].decode() == self.old, f"not the source of {self}"
        return source[: self.start] + self.new.encode() + source[self.end :]


def brief(text: str) -> str:
    """On one line."""
    return " ".join(text.split())


class Text:
    """A source file, and where its nodes are."""

    def __init__(self, root: Path, file: str) -> None:
        self.file = file
        self.source = (root / file).read_bytes()
        lines = self.source.splitlines(keepends=True)
        self.offsets = [0]
        for line in lines:
            self.offsets.append(self.offsets[-1] + len(line))

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """[bytes] where it begins and ends; the columns of a syntax tree are bytes, too."""
        assert node.end_lineno is not None and node.end_col_offset is not None
        first = self.offsets[node.lineno - 1] + node.col_offset
        return first, self.offsets[node.end_lineno - 1] + node.end_col_offset

    def of(self, node: ast.expr | ast.stmt) -> str:
        """As it is written."""
        first, end = self.span(node)
        return self.source[first:end].decode()

    def exchanged(self, node: ast.expr | ast.stmt, new: str) -> Mutant:
        """The mutant in which *new* stands for a node."""
        first, end = self.span(node)
        return Mutant(self.file, node.lineno, first, end, self.of(node), new)


def is_kernel(node: ast.AST) -> bool:
    """Whether it is a compiled function."""
    marks = node.decorator_list if isinstance(node, ast.FunctionDef) else []
    return any(isinstance(one, ast.Name) and one.id in ("kernel", "inlined") for one in marks)


def number(node: ast.expr | ast.stmt) -> int | float | None:
    """What is written there, if it is a number and not a flag."""
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def inside(node: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    """All that is computed below a node: no types, no literal indices, no assertions."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "ctx"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, ast.Assert):
                continue
            literal = isinstance(node, ast.Subscript) and name == "slice"
            if literal and isinstance(child, ast.Constant | ast.Tuple | ast.Slice):
                continue
            if isinstance(child, ast.expr | ast.stmt):
                yield child
            yield from inside(child)


def broken_statement(text: Text, node: ast.expr | ast.stmt) -> Iterator[Mutant]:
    """A step that is omitted: a call for its effect, or what is added to something."""
    called = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    if called or isinstance(node, ast.AugAssign):
        yield text.exchanged(node, "pass")


def broken_comparison(text: Text, node: ast.expr | ast.stmt) -> Iterator[Mutant]:
    """The opposite of a comparison, or of an ``and``."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in OPPOSITE and len(node.ops) == 1:
        left, right = text.of(node.left), text.of(node.comparators[0])
        yield text.exchanged(node, f"({left} {OPPOSITE[type(node.ops[0])]} {right})")
    if isinstance(node, ast.BoolOp):
        word = " or " if isinstance(node.op, ast.And) else " and "
        yield text.exchanged(node, f"({word.join(f'({text.of(v)})' for v in node.values)})")


def broken_value(text: Text, node: ast.expr | ast.stmt) -> Iterator[Mutant]:
    """Another sign, another number, the other end."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        sign = "-" if isinstance(node.op, ast.Add) else "+"
        yield text.exchanged(node, f"({text.of(node.left)} {sign} ({text.of(node.right)}))")
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield text.exchanged(node, f"({text.of(node.operand)})")
    if (value := number(node)) is not None:
        yield text.exchanged(node, repr(2 * value if value else value + 1))
    if isinstance(node, ast.Name) and node.id in OTHER_END:
        yield text.exchanged(node, OTHER_END[node.id])


def constants(text: Text, tree: ast.Module) -> Iterator[Mutant]:
    """The numbers of a file of constants; each might as well not be there.

    A tolerance is chosen so that twice as much makes no difference, so it is set to nothing.
    """
    for node in tree.body:
        if isinstance(node, ast.Assign) and (value := number(node.value)):
            yield text.exchanged(node.value, repr(0 * value))


def mutants_of(root: Path, file: str) -> list[Mutant]:
    """All places of a file that may be broken, in their order."""
    text = Text(root, file)
    tree = ast.parse(text.source)
    if file.endswith("constants.py"):
        return list(constants(text, tree))
    found = [
        mutant
        for function in filter(is_kernel, tree.body)
        for node in inside(function)
        for broken in (broken_statement, broken_comparison, broken_value)
        for mutant in broken(text, node)
    ]
    return sorted(set(found), key=lambda mutant: (mutant.start, mutant.end, mutant.new))
