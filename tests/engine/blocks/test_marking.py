"""A wrong use of ``@block`` is told in one sentence where it stands, and what is accepted can be described."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Annotated, Any, Optional, TypedDict

import msgspec
import pytest

from interlock.analyzer.language.blocks import EffectsUnless, load_manifest
from interlock.engine.blocks import Context, Registry, block
from interlock.engine.ports import Outcome, Success

Run = Callable[..., Outcome]


class Key(TypedDict):
    name: str
    value: str


class Account(TypedDict):
    token: str
    keys: list[Key]
    more: dict[str, Key]
    other: Key | None


async def account(mode: str = "read") -> Account:
    return {"token": "t-123456", "keys": [], "more": {}, "other": None}


async def text() -> str:
    return "text-123456"


async def anything() -> Any:
    return 1


class Later(msgspec.Struct):
    token: str


class Unknown:
    pass


def spec_of(target: Any) -> Any:
    """The block, by way of its manifest: what is accepted can be written down and read again."""
    specs, problems = load_manifest(msgspec.json.encode(Registry([target]).manifest()))
    assert problems == ()
    (spec,) = specs.values()
    return spec


# --- secrets -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "given", "paths"),
    [
        (account, ["token"], (("token",),)),
        (account, ("keys.*.value",), (("keys", "*", "value"),)),
        (account, {"token", "keys.0.value"}, (("keys", "0", "value"), ("token",))),
        (account, ["more.any.value", "more.*"], (("more", "any", "value"), ("more", "*"))),
        (account, ["other.value", "*"], (("other", "value"), ("*",))),
        (account, [], ()),
        (account, False, ()),
        (account, True, ((),)),
        (text, True, ((),)),
        (anything, ["whatever.it.is"], (("whatever", "it", "is"),)),
    ],
)
def test_secret_results_lead_into_the_result(function: Any, given: Any, paths: Any) -> None:
    assert spec_of(block("z", secret_results=given)(function)).secret_results == paths


@pytest.mark.parametrize(
    ("function", "given", "says"),
    [
        (account, "token", 'Block "z": secret_results is a list of texts, such as ["token"], not \'token\'.'),
        (account, None, 'Block "z": secret_results is a list of texts, such as ["name"], not None.'),
        (account, [5], 'Block "z": secret_results is a list of texts, and 5 is none.'),
        (account, [""], 'must be true, or a list of paths such as "token" or "auth.key".'),
        (account, ["keys..value"], 'must be true, or a list of paths such as "token" or "auth.key".'),
        (account, ["tokn"], '"secret_results" names "tokn", which its result does not have; did you mean "token"?'),
        (account, ["keys.*.valeu"], 'names "keys.*.valeu", which its result does not have; did you mean "value"?'),
        (account, ["keys.value"], '"secret_results" names "keys.value", which its result does not have.'),
        (account, ["token.x"], '"secret_results" names "token.x", which its result does not have.'),
        (account, ["other.key"], 'names "other.key", which its result does not have; there are name, value.'),
        (account, ["more.a.b"], 'names "more.a.b", which its result does not have; there are name, value.'),
        (text, ["x"], '"secret_results" names "x", which its result does not have.'),
    ],
)
def test_secret_results_that_would_protect_nothing_are_refused_at_the_mark(
    function: Any, given: Any, says: str
) -> None:
    with pytest.raises(TypeError) as caught:
        block("z", secret_results=given)(function)
    assert says in str(caught.value)


def test_a_result_whose_type_comes_later_is_judged_when_the_block_is_registered() -> None:
    namespace: dict[str, Any] = {"block": block}
    code = "@block('z', secret_results=['tokn'])\nasync def f() -> 'After': ...\n"
    exec(code, namespace)
    namespace["After"] = Later
    with pytest.raises(TypeError, match='did you mean "token"'):
        Registry([namespace["f"]])


def test_all_of_a_result_can_be_secret(run: Run) -> None:
    marked = block("z", secret_results=True, effects=False)(text)
    assert run("z", {}, blocks=(marked,)) == Success("text-123456", ("text-123456",))


# --- the other arguments -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"effects": "no"}, '"effects" must be true, false, or {"param": NAME'),
        ({"effects": EffectsUnless("mode", "read", "read")}, '"effects" must be true, false'),  # type: ignore[arg-type]
        ({"effects": {"param": "mode"}}, '"effects" must be true, false'),
        ({"cost_units": "3"}, '"cost_units" must be a whole number of at least 1.'),
        ({"cost_units": True}, '"cost_units" must be a whole number of at least 1.'),
        ({"cost_units": 0}, '"cost_units" must be a whole number of at least 1.'),
        ({"cost_units": 1.5}, '"cost_units" must be a whole number of at least 1.'),
        ({"doc": 5}, '"doc" must be text.'),
    ],
)
def test_an_argument_that_no_manifest_could_hold_is_refused_at_the_mark(given: dict[str, Any], says: str) -> None:
    with pytest.raises(TypeError) as caught:
        block("z", **given)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "effects",
    [EffectsUnless("mode", ("read",), "read"), {"param": "mode", "values": ["read"], "default": "read"}],
)
def test_effects_may_go_by_a_param(effects: Any) -> None:
    assert spec_of(block("z", effects=effects)(account)).effects == EffectsUnless("mode", ("read",), "read")


def test_effects_go_by_a_param_that_the_block_takes() -> None:
    with pytest.raises(TypeError, match='goes by the param "mod", which it does not take; did you mean "mode"'):
        Registry([block("z", effects=EffectsUnless("mod", ("read",), "read"))(account)])


def test_a_mark_without_a_name_says_how_it_is_written() -> None:
    with pytest.raises(TypeError, match=r'@block\("shop.price"\)'):
        block(account)  # type: ignore[arg-type]


@pytest.mark.parametrize("target", [5, len, "f"])
def test_only_functions_and_classes_are_marked(target: Any) -> None:
    with pytest.raises(TypeError, match="must be a function, or a class"):
        block("z")(target)


# --- the types -----------------------------------------------------------------------------------


async def takes_unknown(when: Unknown) -> int:
    return 1


async def takes_contexts(context: list[Context]) -> int:
    return 1


async def takes_two(one: Context, other: Context) -> int:
    return 1


async def gives_unknown() -> Unknown:
    return Unknown()


async def takes_nan(limit: float = float("nan")) -> int:
    return 1


async def yields() -> int:  # type: ignore[misc]
    yield 1


class NeedsMore:
    def __init__(self, url: str) -> None:
        self.url = url

    async def run(self) -> int:
        return 1


class WithoutRun:
    pass


async def not_known(when: Nowhere) -> int:  # type: ignore[name-defined]  # noqa: F821
    return 1


@pytest.mark.parametrize(
    ("target", "says"),
    [
        (takes_unknown, 'the type of "when" has no JSON Schema: type <class'),
        (takes_contexts, 'the type of "context" has no JSON Schema: type <class'),
        (takes_two, 'only one parameter can be the Context; "one" is one already.'),
        (gives_unknown, "its result has no JSON Schema: type <class"),
        (takes_nan, "cannot be described in a manifest: a number stands in its description"),
        (yields, "must return its result; it yields."),
        (NeedsMore, "its class is made without arguments, and that fails: TypeError: "),
        (WithoutRun, 'the class needs a method "run".'),
        (not_known, "the types of its function cannot be read: name 'Nowhere' is not defined."),
        (functools.partial(account), "the types of its function cannot be read: "),
    ],
)
def test_what_cannot_be_a_block_is_refused_in_one_sentence(target: Any, says: str) -> None:
    with pytest.raises(TypeError) as caught:
        Registry([block("z")(target)])
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


async def perhaps(context: Optional[Context] = None) -> str:  # noqa: UP045
    return context.run if context is not None else ""


async def union(context: Context | None) -> str:
    return context.run if context is not None else ""


async def annotated(context: Annotated[Context | None, "who asks"] = None) -> str:
    return context.run if context is not None else ""


@pytest.mark.parametrize("function", [perhaps, union, annotated])
def test_a_context_that_may_be_none_is_given(run: Run, function: Any) -> None:
    marked = block("z", effects=False)(function)
    assert spec_of(marked).params["properties"] == {}
    assert run("z", {}, blocks=(marked,)) == Success("r1")


# --- collections of names ------------------------------------------------------------------------


def test_one_text_is_no_collection_of_its_letters() -> None:
    with pytest.raises(TypeError, match=r'allow is a list of texts, such as \["shell"\], not \'shell\'\.'):
        Registry(allow="shell")
    with pytest.raises(TypeError, match="blocks is a list of marked functions or classes"):
        Registry("account")
    with pytest.raises(TypeError, match="blocks is a list of marked functions or classes"):
        Registry(account)  # type: ignore[arg-type]
