"""Mutants: one small change in the body of one function, found in its syntax tree.

``mutants_of`` lists what can be changed in a module, always in the same order; ``put_in`` gives the functions of
the imported module the code of one mutant, in this process and nowhere else.  What stands outside functions
(constants of a module, the fields of a class), messages, annotations and assertions are left alone.
"""

from __future__ import annotations

import ast
import functools
import types
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
SWAPPED = {"min": "max", "max": "min", "any": "all", "all": "any"}
Function = ast.FunctionDef | ast.AsyncFunctionDef
Change = tuple[str, int, Callable[[], None]]
"""What is changed, on which line, and the act that changes the tree."""


class Mutant(msgspec.Struct, frozen=True):
    """The ``number``-th change of a module (its dotted name): on ``line``, in ``function``."""

    module: str
    number: int
    function: str
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.module}#{self.number} line {self.line} in {self.function}: {self.what}"


@functools.cache
def source(path: str) -> str:
    """What a file held when it was first asked for: a file that is edited meanwhile changes no mutant's number."""
    return Path(path).read_text("utf-8")


def mutants_of(module: str, path: Path) -> list[Mutant]:
    tree = ast.parse(source(str(path)))
    found = [(name, change) for name, function in functions(tree) for change in changes(function)]
    return [Mutant(module, number, name, line, what) for number, (name, (what, line, _)) in enumerate(found)]


def functions(tree: ast.Module) -> Iterator[tuple[str, Function]]:
    """The functions of a module and the methods of its classes, with their qualified names."""
    for node in tree.body:
        if isinstance(node, Function):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, Function):
                    yield f"{node.name}.{inner.name}", inner


def changes(function: Function) -> Iterator[Change]:
    yield from _in_statements(function.body)


def _in_statements(body: list[ast.stmt]) -> Iterator[Change]:
    for place, statement in enumerate(body):
        if isinstance(statement, ast.Assert | ast.Raise) or _is_text(statement):
            continue
        if _droppable(statement):
            yield _drop(body, place)
        yield from _in(statement)


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _droppable(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Assign):
        return all(isinstance(target, ast.Attribute | ast.Subscript) for target in statement.targets)
    if isinstance(statement, ast.Return):
        return statement.value is None
    return isinstance(statement, ast.Expr | ast.AugAssign | ast.Delete | ast.Continue | ast.Break)


def _drop(body: list[ast.stmt], place: int) -> Change:
    statement = body[place]

    def act() -> None:
        body[place] = ast.copy_location(ast.Pass(), statement)

    return f"drop `{_short(statement)}`", statement.lineno, act


def _in(node: ast.AST) -> Iterator[Change]:
    """The changes of a node and of what is below it."""
    if isinstance(node, ast.JoinedStr):
        return
    yield from _of(node)
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "args") and not isinstance(node, ast.Call):
            continue
        if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
            yield from _in_statements(value)
        else:
            for each in value if isinstance(value, list) else [value]:
                if isinstance(each, ast.AST):
                    yield from _in(each)


def _of(node: ast.AST) -> Iterator[Change]:
    if isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            new = COMPARED[type(operator)]()
            yield _change(node, f"{type(operator).__name__} -> {type(new).__name__}", node.ops, place, new)
    elif isinstance(node, ast.BoolOp):
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield _change(node, f"{type(node.op).__name__} -> {type(other).__name__}", node, "op", other)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        sign = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
        yield _change(node, f"{type(node.op).__name__} -> {type(sign).__name__}", node, "op", sign)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield _change(node, f"{node.value} -> {not node.value}", node, "value", not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        for value in (node.value + 1, node.value - 1):
            yield _change(node, f"{node.value} -> {value}", node, "value", value)
    elif isinstance(node, ast.Name) and node.id in SWAPPED:
        yield _change(node, f"{node.id} -> {SWAPPED[node.id]}", node, "id", SWAPPED[node.id])
    elif isinstance(node, ast.If | ast.While | ast.IfExp) and not isinstance(node.test, ast.Compare):
        yield _change(node.test, f"not ({_short(node.test)})", node, "test", _negated(node.test))
    elif isinstance(node, ast.Tuple | ast.List | ast.Set) and isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        for place, element in enumerate(node.elts):
            yield _without(node.elts, place, element)


def _negated(test: ast.expr) -> ast.expr:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return test.operand
    return ast.copy_location(ast.UnaryOp(ast.Not(), test), test)


def _change(node: ast.AST, what: str, holder: object, place: str | int, value: object) -> Change:
    def act() -> None:
        if isinstance(holder, list):
            holder[place] = value  # type: ignore[index]
        else:
            setattr(holder, str(place), value)

    told = what if what.startswith("not ") else f"{what} in `{_short(node)}`"
    return told, getattr(node, "lineno", 0), act


def _without(elements: list[ast.expr], place: int, element: ast.expr) -> Change:
    def act() -> None:
        del elements[place]

    return f"without `{_short(element)}`", element.lineno, act


def _short(node: ast.AST) -> str:
    text = ast.unparse(node).splitlines()[0]
    return text if len(text) <= 70 else text[:67] + "..."


# --- in the process ---


def put_in(mutant: Mutant, module: types.ModuleType) -> None:
    """Give the mutant's code to the function that is imported.  Raises LookupError where it cannot be found."""
    path = str(module.__file__)
    tree = ast.parse(source(path))
    found = [(name, change) for name, function in functions(tree) for change in changes(function)]
    name, (_, _, act) = found[mutant.number]
    act()
    compiled = compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)
    code = next(each for each in _codes(compiled) if each.co_qualname == name)
    target = _live(module, name)
    if target is None:
        raise LookupError(f"{name} of {mutant.module} is no plain function")
    target.__code__ = code


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield each
            yield from _codes(each)


def _live(module: types.ModuleType, name: str) -> types.FunctionType | None:
    """The function itself, under what wraps it."""
    holder, _, last = name.rpartition(".")
    found: object = vars(vars(module)[holder] if holder else module).get(last)
    while not isinstance(found, types.FunctionType) or found.__qualname__ != name or hasattr(found, "__wrapped__"):
        if isinstance(found, property):
            found = found.fget
        elif isinstance(found, functools.cached_property):
            found = found.func
        elif isinstance(found, types.FunctionType) and not hasattr(found, "__wrapped__"):
            # a listener that the simulation has put before it keeps it in a cell
            cells = [each.cell_contents for each in found.__closure__ or ()]
            found = next((each for each in cells if getattr(each, "__qualname__", "") == name), None)
        else:
            found = getattr(found, "__wrapped__", None) or getattr(found, "__func__", None)
        if found is None:
            return None
    return found
