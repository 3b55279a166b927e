"""Makes workflows without errors, from a seed: every kind of step, nested, with typed expressions.

A workspace is a list of documents as plain data; the first one is the root, the others are started
by it or by one another, always one level deeper.  Keys are taken in one order throughout: numbers grow
within a workflow, and a deeper level has greater ones, so no order of locks closes a circle.
``write`` makes texts of it, ``steps`` makes the kinds of steps.
"""

from __future__ import annotations

import random
import re
from typing import Any

import msgspec

from agreement.expressions import ALWAYS, SCALARS, Entry, List, Maybe, Record, Scope, Type, Words, Writer

Document = dict[str, Any]

STEP_WORDS = [
    "fetch", "price", "notify", "ledger", "approve_it", "publish", "collect", "ship", "refund", "audit",
    "render", "upload", "scan", "merge_it", "split_it", "enrich", "score", "rank", "translate", "archive",
    "clean", "lookup", "verify", "charge", "book_it", "cancel_it", "label", "pack", "stock", "invoice",
    "remind", "escalate", "triage", "review_it", "assign", "close_it", "reopen", "mirror", "export_it",
    "import_it", "parse_it", "format_it", "hash_it", "sign", "seal", "open_it", "lock_it", "warm", "cool",
    "mix_it", "bake", "slice_it", "serve", "taste", "plate", "order_it", "deliver", "rate_it", "thank",
    "greet",
]  # fmt: skip
INPUT_WORDS = [
    "quantity", "color", "region", "customer_ref", "urgency", "basket_rows", "weight_kg", "locale_tag",
    "campaign", "budget_line", "depth_limit", "channel", "partner", "discount_pct", "voucher", "window_days",
    "threshold_pct", "remark_text", "tax_code", "ware_ids", "floor_no", "season", "shelf", "bundle", "crate",
    "pallet_nr", "dock_name", "gate_no", "crew", "shift_kind", "truck", "route_ids",
]  # fmt: skip
OUTPUT_WORDS = [
    "total_sum",
    "summary_text",
    "answer_val",
    "verdict_word",
    "picked_rows",
    "share_pct",
    "done_flag",
    "extra_part",
]
BRANCH_WORDS = ["north", "south", "east", "west", "upper", "lower", "inner_side", "outer_side"]
WORKFLOWS = ["shop.root", "shop.child-one", "depot.second", "mail.third", "night.fourth_run"]


class Signature(msgspec.Struct, frozen=True):
    """What callers know of a workflow: its inputs (type, whether they must be given) and its outputs."""

    name: str
    inputs: dict[str, tuple[Type, bool, tuple[Any, ...]]]
    outputs: Record | None
    level: int


class Workspace(msgspec.Struct, frozen=True):
    """Documents (the root first), by what seed and size they were made."""

    seed: int
    size: int
    documents: list[Document]

    @property
    def root(self) -> str:
        return str(self.documents[0]["workflow"])


def make(seed: int, size: int = 12) -> Workspace:
    """The workspace of a seed; ``size`` is about how many steps its root has."""
    rng = random.Random(f"{seed}/{size}")
    words = INPUT_WORDS[:]
    rng.shuffle(words)
    made: list[Document] = []
    children: list[Signature] = []
    levels = rng.choice([0, 0, 1, 1, 2, 3]) if size > 3 else rng.choice([0, 0, 1])
    for level in range(levels, -1, -1):
        name = WORKFLOWS[level]
        steps = size if level == 0 else max(1, size // 3)
        maker = Maker(rng, name, level, words, children, steps)
        document, signature = maker.workflow()
        made.insert(0, document)
        children.append(signature)
    return Workspace(seed, size, made)


class Place(msgspec.Struct, frozen=True):
    """What stands around a step list, as far as it matters for what may stand in it.

    ``leases``: ``any``, ``sections`` (no lease that outlives its section), ``claims`` (none that is
    waited for) or ``none``.
    """

    depth: int = 0
    top: bool = True
    held: bool = False
    protected: bool = False
    loop: bool = False
    each: int = 0
    leases: str = "any"
    index: bool = False

    def inside(self, **changes: Any) -> Place:
        given = {name: getattr(self, name) for name in self.__struct_fields__}
        return Place(**{**given, "depth": self.depth + 1, "top": False, **changes})


class Maker:
    """Makes one workflow."""

    def __init__(
        self, rng: random.Random, name: str, level: int, words: list[str], children: list[Signature], steps: int
    ) -> None:
        self.random = rng
        self.name = name
        self.level = level
        self.words = words
        self.children = children
        self.left = steps
        self.write = Writer(rng)
        self.ids = STEP_WORDS[:]
        rng.shuffle(self.ids)
        self.inputs: dict[str, Any] = {}
        self.types: dict[str, Type] = {}
        self.secrets: list[str] = []
        self.secret_inputs: list[str] = []
        # A signal for one wait may be taken by another: a payload that is merged must hit no input.
        self.merges_signals = rng.random() < 0.5
        self.key = 0
        self.started = 0
        self.groups = 0
        self.agents = False
        self.fan_out = False
        self.delays = False
        self.followers: list[tuple[list[Any], Document, Document, str]] = []

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def new_id(self) -> str:
        if not self.ids:
            self.ids = [f"{word}_{self.random.randint(100, 999)}" for word in STEP_WORDS[:20]]
        return self.ids.pop()

    def later(self, steps: list[Any], step: Document, last: Document, form: str) -> None:
        """A ``next`` that names what will follow ``last`` in the list; ``form`` has %s for it."""
        self.followers.append((steps, step, last, form))

    # --- the workflow ---

    def workflow(self) -> tuple[Document, Signature]:
        from agreement.steps import steps

        document: Document = {"workflow": self.name}
        self._inputs()
        if self.chance(0.4):
            self.secrets = ["API_TOKEN"]
        readable = {name: type_ for name, type_ in self.types.items() if name not in self.secret_inputs}
        scope = Scope([ALWAYS, Entry("inputs", Record(readable))])
        at_start = scope.copy()
        made, after = steps(self, scope, Place(), max(1, self.left))
        outputs, shown = self.outputs(after.at_end, 0.75)
        self._follow()
        if self.inputs:
            document["inputs"] = self.inputs
        document |= self._head(at_start, made)
        document["steps"] = made
        if outputs:
            document["outputs"] = outputs
        handler_scope = at_start
        for name, probability in (("on_cancel", 0.2), ("on_deadline", 0.3 if "deadline" in document else 0)):
            if self.chance(probability):
                document[name] = [self.plain_block(handler_scope) for _ in range(self.random.randint(1, 2))]
        self._drop_unused(document)
        rest = list(document.items())[1:]
        if self.chance(0.3):
            self.random.shuffle(rest)
        document = {"workflow": self.name, **dict(rest)}
        inputs = {name: self._declared(name) for name in document.get("inputs", {})}
        return document, Signature(self.name, inputs, shown if outputs else None, self.level)

    def _head(self, scope: Scope, steps: list[Any]) -> Document:
        head: Document = {}
        if self.chance(0.3):
            head["version"] = f"v{self.random.randint(1, 9)}"
        if self.chance(0.2):
            head["description"] = "Does: things, and more # things."
        if self.secrets:
            head["secrets"] = self.secrets
        if self.chance(0.35):
            head["concurrency"] = self._admission(scope)
        budget = self._budget(steps)
        if budget:
            head["budget"] = budget
        if self.level == 0 and self.chance(0.15):
            head["idempotency_key"] = "once-{run.workflow}-" + self.write.template(scope, key=True)
        if self.chance(0.25):
            head["deadline"] = self.random.choice(["400d", "9000h", 34560000, "399d24h"])
        if "compensate" in repr(steps) and self.chance(0.5):
            head["compensate_on_failure"] = True
        return head

    def _admission(self, scope: Scope) -> Document:
        if self.level == 0 and self.chance(0.4):
            policy = self.random.choice(["latest_waiting", "supersede"])
            return {"limit": 1, "on_busy": policy, "supersession_key": self.write.template(scope, key=True)}
        made: Document = {"limit": self.random.randint(1, 3)}
        if self.chance(0.3):
            made["on_busy"] = "wait"
        return made

    def _budget(self, steps: list[Any]) -> Document:
        budget: Document = {}
        loops = ".more ?" in repr(steps)
        if loops or self.chance(0.3):
            budget["max_transitions"] = self.random.choice([5000, 8000])
        if self.chance(0.2):
            budget["max_cost_units"] = self.random.choice([9000, 20000])
        if self.chance(0.2):
            budget["max_for_each_items"] = self.random.choice([50, 200])
        if self.chance(0.2):
            budget["max_state_bytes"] = 900_000
        if self.fan_out or self.chance(0.1):
            budget["max_started_workflows"] = 500
        return budget

    def _inputs(self) -> None:
        for _ in range(self.random.randint(0, 4)):
            if not self.words:
                return
            name = self.words.pop()
            kind = self.random.choice(["string", "integer", "number", "boolean", "array", "object", "any", "string"])
            self.inputs[name], self.types[name] = self._input(kind)
            if self.inputs[name] == "string" and self.chance(0.3):
                self.inputs[name] = {"type": "string", "secret": True}
                self.secret_inputs.append(name)

    def _input(self, kind: str) -> tuple[Any, Type]:
        pick = self.random
        known: dict[str, Type] = {"array": List("dyn"), "object": "map", "any": "dyn"}
        type_ = known.get(kind, kind)
        made: Document = {"type": kind}
        if kind == "string" and pick.random() < 0.3:
            made["enum"] = ["plain", "formal", "rough"]
            type_ = Words(("plain", "formal", "rough"))
        roll = pick.random()
        if roll < 0.25:
            made["default"] = {
                "string": "plain",
                "integer": pick.randint(0, 50),
                "number": pick.choice([1, 2.5]),
                "boolean": True,
                "array": [1, "two"],
                "object": {"a": 1},
                "any": None,
            }[kind]
        elif roll < 0.35:
            made["required"] = False
            type_ = Maybe(type_)
        elif roll < 0.42:
            made["required"] = True
        if len(made) == 1 and pick.random() < 0.6:
            return kind, type_
        return made, type_

    def _declared(self, name: str) -> tuple[Type, bool, tuple[Any, ...]]:
        given = self.inputs[name]
        required = isinstance(given, str) or ("default" not in given and given.get("required", True))
        words = tuple(given.get("enum", ())) if isinstance(given, dict) else ()
        return self.types[name], required, words

    def outputs(self, scope: Scope, probability: float) -> tuple[Document, Record]:
        """Outputs that the scope allows, and what they show."""
        made: Document = {}
        shown: dict[str, Type] = {}
        if self.chance(probability):
            names = self.random.sample(OUTPUT_WORDS, self.random.randint(1, 3))
            for name in names:
                made[name], shown[name] = self.value(scope)
        return made, Record(shown)

    def value(self, scope: Scope, when: str | None = None) -> tuple[Any, Type]:
        """A value as a field takes any: a template, a literal, or a mapping of such."""
        kind = self.random.choice([*SCALARS, "text", "literal", "list", "unknown"])
        if kind == "text":
            return self.write.template(scope, when), "string"
        if kind == "literal":
            return self.random.choice(
                [(5, "integer"), ("fixed", "string"), (True, "boolean"), (1.5, "number"), ("{{}}", "string")]
            )
        if kind == "list":
            item = self.random.choice(SCALARS[:2])
            return "{" + self.write.make(scope, List(item), 2, when) + "}", List(item)
        if kind == "unknown" and self.chance(0.25):
            # What was merged into the state is read as a whole, or not at all.
            name = self.random.choice([*OUTPUT_WORDS, "told_by"])
            return "{state.?" + name + ".orValue(0)}", "dyn"
        if kind == "unknown":
            kinds: list[Type] = ["dyn", "map", List("dyn"), List("string")]
            read = self.write.read(scope, self.random.choice(kinds), when)
            return ("{" + read + "}", "dyn") if read is not None else ({"none": None}, "map")
        return self.whole(scope, kind, when), kind

    def whole(self, scope: Scope, type_: Type, when: str | None = None) -> str:
        """A template that is exactly one expression of a type."""
        return "{" + self.write.space(self.write.make(scope, type_, 2, when)) + "}"

    def plain_block(self, scope: Scope) -> Document:
        from agreement.steps import block

        step, _ = block(self, scope, Place(), None)
        for name in ("retry", "compensate", "next", "when"):
            step.pop(name, None)
        return step

    def _follow(self) -> None:
        """Every ``next`` that waits for the name of what follows it."""
        for steps, step, last, form in self.followers:
            at = next(number for number, each in enumerate(steps) if each is last)
            following = steps[at + 1]["id"] if at + 1 < len(steps) else "end"
            step["next"] = form.replace("%s", following)

    def _drop_unused(self, document: Document) -> None:
        text = repr({name: value for name, value in document.items() if name != "inputs"})
        used = {name: value for name, value in self.inputs.items() if self._is_used(name, text)}
        document.pop("inputs", None)
        if used:
            document["inputs"] = used

    def _is_used(self, name: str, text: str) -> bool:
        return re.search(rf"inputs\.\??{name}\b", text) is not None or f"'correlation_key': '{name}'" in text
