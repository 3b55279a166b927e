"""What the operators of CEL do with which types, as the runtime evaluates them unchecked.

Equality is not here: it never fails. Reporting is the checker's part.
"""

from __future__ import annotations

from interlock.analyzer.expressions.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    UINT,
    Bool,
    Bytes,
    Double,
    Duration,
    Dyn,
    Int,
    List,
    String,
    Timestamp,
    Type,
    Uint,
    join,
    one_of,
    options,
)

Pair = tuple[type[Type], type[Type]]
_NUMBERS: tuple[type[Type], ...] = (Int, Uint, Double)

_SUMS: dict[Pair, Type] = {
    (Int, Int): INT,
    (Uint, Uint): UINT,
    (Double, Double): DOUBLE,
    (String, String): STRING,
    (Bytes, Bytes): BYTES,
    (List, List): List(DYN),
    (Timestamp, Duration): TIMESTAMP,
    (Duration, Timestamp): TIMESTAMP,
    (Duration, Duration): DURATION,
}
_DIFFERENCES: dict[Pair, Type] = {
    (Int, Int): INT,
    (Uint, Uint): UINT,
    (Double, Double): DOUBLE,
    (Timestamp, Timestamp): DURATION,
    (Timestamp, Duration): TIMESTAMP,
    (Duration, Duration): DURATION,
}
_PRODUCTS: dict[Pair, Type] = {(Int, Int): INT, (Uint, Uint): UINT, (Double, Double): DOUBLE}
_REMAINDERS: dict[Pair, Type] = {(Int, Int): INT, (Uint, Uint): UINT}
_ORDER: dict[Pair, Type] = {
    **{(a, b): BOOL for a in _NUMBERS for b in _NUMBERS},
    **{(a, a): BOOL for a in (String, Bool, Bytes, Timestamp, Duration)},
}

TABLE: dict[str, dict[Pair, Type]] = {
    "+": _SUMS,
    "-": _DIFFERENCES,
    "*": _PRODUCTS,
    "/": _PRODUCTS,
    "%": _REMAINDERS,
    "<": _ORDER,
    "<=": _ORDER,
    ">": _ORDER,
    ">=": _ORDER,
}
"""The pairs of operand types that each operator takes, with the type of the result."""

VERBS = {"+": "added", "-": "subtracted", "*": "multiplied", "/": "divided", "%": "divided with a remainder"}
NEGATABLE: tuple[type[Type], ...] = (Int, Double)
KEYS: tuple[type[Type], ...] = (String, Int, Uint, Bool)
"""Types that a key of a map can have."""


def result(op: str, left: Type, right: Type) -> Type | None:
    """The type of ``left op right``; None where no alternative of the two can go together."""
    table = TABLE[op]
    found = table.get((left.__class__, right.__class__))
    if found is not None:
        if isinstance(left, List) and isinstance(right, List):
            return List(join(left.item, right.item))
        return found
    if isinstance(left, Dyn) and isinstance(right, Dyn):
        return BOOL if table is _ORDER else DYN
    results: list[Type] = []
    for a in options(left):
        for b in options(right):
            for (wanted_a, wanted_b), outcome in table.items():
                if isinstance(a, (wanted_a, Dyn)) and isinstance(b, (wanted_b, Dyn)):
                    results.append(
                        List(join(a.item, b.item)) if isinstance(a, List) and isinstance(b, List) else outcome
                    )
    return one_of(results) if results else None


def takes(op: str, operand: Type, side: int) -> bool:
    """Whether some value on the other side would do: ``side`` is 0 for the left operand, 1 for the right."""
    classes = {pair[side] for pair in TABLE[op]}
    return any(isinstance(option, Dyn) or option.__class__ in classes for option in options(operand))


def is_number(type: Type) -> bool:
    return isinstance(type, (Int, Uint, Double))


def may_be(type: Type, *classes: type[Type]) -> bool:
    """Whether an alternative of the type is one of the classes, or is not known."""
    return any(isinstance(option, (Dyn, *classes)) for option in options(type))
