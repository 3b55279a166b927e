"""Calls: which function a name means, whether its arguments fit, and what it returns.

Part of the checker; macros that bind a variable are not calls and are judged there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlock.analyzer.expressions.ast import Call, Ident, Node
from interlock.analyzer.expressions.functions import (
    FUNCTIONS,
    GLOBAL_NAMES,
    MACROS,
    METHOD_NAMES,
    METHODS,
    NAMESPACES,
    Function,
    Overload,
    signature,
)
from interlock.analyzer.expressions.types import (
    DYN,
    Dyn,
    List,
    Map,
    Null,
    OneOf,
    Optional,
    Record,
    String,
    Type,
    Var,
    describe,
    join,
    one_of,
    options,
)
from interlock.analyzer.language.nearest import nearest

if TYPE_CHECKING:
    from interlock.analyzer.expressions.check import Checker

_EXTREMA = frozenset({"math.greatest", "math.least"})


def infer(checker: Checker, node: Call) -> Type:
    """The type of a call: IL202 for a name that is no function, IL206 for arguments that do not fit."""
    target = node.target
    if target is None:
        args = [checker.infer(arg) for arg in node.args]
        function = None if node.absolute else FUNCTIONS.get(node.function)
        if function is None:
            return unknown_function(checker, node, args)
        return apply(checker, node, function, None, args)
    if isinstance(target, Ident) and target.name in NAMESPACES and not target.absolute:
        function = FUNCTIONS.get(f"{target.name}.{node.function}")
        known = target.name in checker.locals or checker.scope.resolve(target.name) is not None
        if function is not None or not known:
            args = [checker.infer(arg) for arg in node.args]
            if function is None:
                return unknown_in_namespace(checker, node, target.name)
            return apply(checker, node, function, None, args)
    receiver = checker.infer(target)
    args = [] if node.function in MACROS else [checker.infer(arg) for arg in node.args]
    method = METHODS.get(node.function)
    if method is None:
        return unknown_method(checker, node)
    return apply(checker, node, method, receiver, args)


# -- unknown names -----------------------------------------------------------------------------------


def unknown_function(checker: Checker, node: Call, args: list[Type]) -> Type:
    name = node.function
    if name == "has":
        message = f"has() takes the selection of one member, not {len(node.args)} arguments"
        checker.report("IL206", node.name_start, node.end, message, "write has(x.name)")
        return DYN
    message = f'there is no function "{name}"'
    if node.absolute:
        checker.report("IL202", node.name_start, node.name_end, message, "leave out the dot before it")
        return DYN
    near = nearest(name, GLOBAL_NAMES)
    if name in METHOD_NAMES:
        hint = f"it is called on a value: {_example(name)}"
        checker.report("IL202", node.name_start, node.name_end, message, hint)
    elif near is not None:
        fix = (node.name_start, node.name_end, near)
        checker.report("IL202", node.name_start, node.name_end, message, f'did you mean "{near}"?', fix)
        if near in FUNCTIONS:
            return apply(checker, node, FUNCTIONS[near], None, args)
    else:
        checker.report("IL202", node.name_start, node.name_end, message, _here(name, False))
    return DYN


def unknown_in_namespace(checker: Checker, node: Call, namespace: str) -> Type:
    members = [name.split(".")[1] for name in FUNCTIONS if name.startswith(f"{namespace}.")]
    near = nearest(node.function, members)
    hint = f'did you mean "{near}"?' if near else f"it has: {', '.join(members)}"
    fix = (node.name_start, node.name_end, near) if near else None
    message = f'there is no function "{namespace}.{node.function}"'
    checker.report("IL202", node.name_start, node.name_end, message, hint, fix)
    return DYN


def unknown_method(checker: Checker, node: Call) -> Type:
    name = node.function
    macro = MACROS.get(name)
    if macro is not None and macro.receiver:
        message = f"{name}() is not used so: it takes the name of the item and what to do with it"
        checker.report("IL206", node.name_start, node.end, message, f"write {macro.signatures[0].split(' ->')[0]}")
        return DYN
    message = f'there is no method "{name}"'
    hint: str | None = None
    fix: tuple[int, int, str] | None = None
    near = nearest(name, METHOD_NAMES)
    if name in FUNCTIONS or name == "has":
        hint = f"it is a function: write {name}(…)"
    elif near is not None:
        hint, fix = f'did you mean "{near}"?', (node.name_start, node.name_end, near)
    else:
        hint = _here(name, True)
    checker.report("IL202", node.name_start, node.name_end, message, hint, fix)
    return DYN


#: What functions and methods of other languages are called here: by their names in lower case, without "_".
_OTHER_NAMES = {
    "size(x)": ("len", "length", "count"),
    "string(x)": ("str", "tostring", "text", "tojson", "stringify"),
    "double(x)": ("float", "number", "tofloat", "tonumber", "parsefloat"),
    "int(x)": ("integer", "toint", "tointeger", "parseint"),
    "bool(x)": ("boolean", "tobool", "toboolean"),
    "x.lowerAscii()": ("lower", "tolower", "tolowercase", "lowercase", "downcase"),
    "x.upperAscii()": ("upper", "toupper", "touppercase", "uppercase", "upcase"),
    "x.contains(y)": ("includes", "include", "has"),
    "x.trim()": ("strip",),
    "x.map(y, …)": ("collect", "foreach"),
    "x.filter(y, …)": ("where", "select"),
    "x.exists(y, …)": ("any", "some"),
    "x.all(y, …)": ("every",),
    "math.greatest(x, y)": ("max", "maximum"),
    "math.least(x, y)": ("min", "minimum"),
    "math.abs(x)": ("abs", "absolute"),
    "math.ceil(x)": ("ceil", "ceiling"),
    "math.floor(x)": ("floor",),
    "math.round(x)": ("round",),
    "x == null": ("isnull", "isnone"),
    "x + y": ("concat", "append", "plus"),
    "x in list": ("in", "contained"),
    "!x": ("not",),
    "condition ? x : y": ("iif", "ifelse", "when"),
}
_HERE = {other: form for form, others in _OTHER_NAMES.items() for other in others}


def _here(name: str, method: bool) -> str | None:
    """What does here what a name of another language asks for."""
    form = _HERE.get(name.lower().replace("_", ""))
    if form is None and (f"math.{name}" in FUNCTIONS) and not method:
        form = f"math.{name}(x)"
    return f"write {form}" if form is not None else None


def _example(name: str) -> str:
    return MACROS[name].signatures[0] if name in MACROS else METHODS[name].signatures()[0]


# -- arguments ---------------------------------------------------------------------------------------


def apply(checker: Checker, node: Call, function: Function, receiver: Type | None, args: list[Type]) -> Type:
    """The result of calling a known function; reports why it cannot be called so."""
    results: list[Type] = []
    for overload in function.overloads:
        bound: dict[str, Type] = {}
        if receiver is not None and not fits(receiver, overload.receiver or DYN, bound):
            continue
        formals = formals_for(overload, len(args))
        if formals is None:
            continue
        if all(fits(arg, formal, bound) for arg, formal in zip(args, formals, strict=True)):
            results.append(substitute(overload.result, bound))
    if results:
        if function.name in _EXTREMA:
            return extremum(args)
        return one_of(results)
    bad_call(checker, node, function, receiver, args)
    # Where every form returns the same, the result is known whatever is wrong with the arguments.
    outcome = function.overloads[0].result
    same = all(overload.result == outcome for overload in function.overloads)
    return substitute(outcome, {}) if same else DYN


def formals_for(overload: Overload, count: int) -> tuple[Type, ...] | None:
    """The types of so many arguments; None where the overload does not take that many."""
    formals = overload.args
    if overload.variadic and count >= len(formals):
        return formals + (formals[-1],) * (count - len(formals))
    return formals if len(formals) == count else None


def fits(actual: Type, formal: Type, bound: dict[str, Type]) -> bool:
    """Whether a value of a type can be the argument; binds the variables of the signature."""
    if isinstance(formal, Var):
        bound[formal.name] = join(bound[formal.name], actual) if formal.name in bound else actual
        return True
    if isinstance(actual, Dyn):
        substitute(formal, bound, bind=True)
        return True
    if isinstance(formal, Dyn):
        return True
    if isinstance(actual, OneOf):
        # All are tried: each binds the variables of the signature.
        return sum(fits(option, formal, bound) for option in actual.options) > 0
    if isinstance(formal, OneOf):
        return any(fits(actual, option, bound) for option in formal.options)
    if isinstance(formal, List):
        return isinstance(actual, List) and fits(actual.item, formal.item, bound)
    if isinstance(formal, Optional):
        return isinstance(actual, Optional) and fits(actual.of, formal.of, bound)
    if isinstance(formal, Map):
        return isinstance(actual, (Map, Record))
    return actual.__class__ is formal.__class__


def substitute(type: Type, bound: dict[str, Type], bind: bool = False) -> Type:
    """The type with its variables filled in; with ``bind`` unbound ones become ``Dyn``."""
    if isinstance(type, Var):
        if bind:
            bound[type.name] = DYN
        return bound.get(type.name, DYN)
    if isinstance(type, List):
        return List(substitute(type.item, bound, bind))
    if isinstance(type, Optional):
        return Optional(substitute(type.of, bound, bind))
    return type


def extremum(args: list[Type]) -> Type:
    """``math.greatest`` and ``math.least`` return one of their arguments as it is."""
    if len(args) == 1 and isinstance(args[0], List):
        return args[0].item
    return one_of(args) if not any(isinstance(arg, (List, OneOf)) for arg in args) else DYN


def bad_call(checker: Checker, node: Call, function: Function, receiver: Type | None, args: list[Type]) -> None:
    name = function.name
    suited = [
        overload for overload in function.overloads if receiver is None or fits(receiver, overload.receiver or DYN, {})
    ]
    if not suited:
        owners = one_of([overload.receiver or DYN for overload in function.overloads])
        message = f"{name}() is for {describe(owners)}, and this is {describe(receiver or DYN)}"
        assert node.target is not None
        checker.report("IL206", node.target.start, node.target.end, message, _conversion(owners, receiver))
        return
    counted = [(overload, formals) for overload in suited if (formals := formals_for(overload, len(args))) is not None]
    if not counted:
        forms = " or ".join(signature(name, overload).split(" ->")[0] for overload in suited[:3])
        count = f"{len(args)} argument{'' if len(args) == 1 else 's'}" if args else "no arguments"
        message = f"{name}() does not take {count}"
        checker.report("IL206", node.name_start, node.end, message, f"write {forms}")
        return
    for at, (arg, actual) in enumerate(zip(node.args, args, strict=True)):
        wanted = [formals[at] for _, formals in counted]
        if not any(fits(actual, formal, {}) for formal in wanted):
            report_argument(checker, name, arg, actual, one_of([substitute(formal, {}) for formal in wanted]))
            return
    listed = ", ".join(describe(arg) for arg in args)
    checker.report("IL206", node.name_start, node.end, f"{name}() does not take these together: {listed}")


def report_argument(checker: Checker, name: str, arg: Node, actual: Type, wanted: Type) -> None:
    message = f"{name}() takes {describe(wanted)} here, and this is {describe(actual)}"
    checker.report("IL206", arg.start, arg.end, message, _conversion(wanted, actual))


def _conversion(wanted: Type, actual: Type | None) -> str | None:
    if isinstance(actual, Null):
        return "test it for null first"
    if isinstance(actual, Optional):
        return "take its value with orValue(…)"
    if actual is None or isinstance(actual, (List, Map, Record)):
        return None
    names = {option.__class__.__name__.lower() for option in options(wanted)}
    if names == {"string"} and not isinstance(actual, String):
        return "convert it with string(x)"
    if "double" in names and actual.__class__.__name__ in ("Int", "Uint"):
        return "convert it with double(x)"
    if "bytes" in names and isinstance(actual, String):
        return "convert it with bytes(x)"
    return None
