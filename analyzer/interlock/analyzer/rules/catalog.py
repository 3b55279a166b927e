"""Every rule: its stable code and name, its severity, whether it has a fix, and its title.

The page of a rule (why it matters, a bad and a good example) is a file of its own under
``pages/``; it is read only when somebody asks for it.
"""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

import msgspec

from interlock.analyzer.language.nearest import nearest

Severity: TypeAlias = Literal["error", "warning", "hint"]

_SEVERITIES: dict[str, Severity] = {"E": "error", "W": "warning", "H": "hint"}


_FAMILY = re.compile(r"IL\d{0,2}[xX*]{0,2}", re.IGNORECASE | re.ASCII)


class Rule(msgspec.Struct, frozen=True):
    """One rule of section 13."""

    code: str
    name: str
    severity: Severity
    fixable: bool
    title: str


_TABLE = """
IL101 yaml-syntax E - The text is not YAML
IL102 duplicate-key E - A mapping has the same key twice
IL103 unknown-field E F A field that the language does not know
IL104 missing-field E F A required field is absent
IL105 wrong-type E - A value of another YAML type than the field takes
IL106 bad-name E - A name that is not legal, or reserved
IL107 step-kind E - A step without a kind, or with two
IL108 duplicate-id E - A step id used twice, or hiding an outer name
IL109 unquoted-template E F A template without quotes
IL110 alias-expansion E - An alias that contains itself, or expands without bound
IL111 bad-duration E - A text that is no duration
IL112 bad-choice E F A word that is not one of those allowed
IL113 empty-steps E - A list of steps without a step
IL114 duplicate-workflow E - Two workflows of one name
IL115 bad-default E - A default outside its type or enum
IL201 expression-syntax E - An expression that cannot be read
IL202 unknown-reference E F A name that stands for nothing here
IL203 not-yet-settled E - A reference to a step that may not have settled
IL204 out-of-scope E - A reference into a branch or a section
IL205 unknown-member E F A member that does not exist
IL206 type-mismatch E - A type that does not fit
IL207 maybe-absent W - A value that may be absent
IL208 unknown-block E F A block that nobody provides
IL209 block-params E - Parameters that the block does not take
IL210 unused-input H - An input that nothing reads
IL211 constant-condition W - A condition that is always the same
IL212 unreachable-step W - Steps that no path reaches
IL213 bad-next E - A jump to a step that is not in this list
IL214 name-collision E - Two things under one name
IL215 impossible-comparison W F A comparison with a word that never occurs
IL301 concurrency-form E - Branches and a resource mixed, or neither
IL302 misplaced-field E - A field that belongs elsewhere
IL303 bad-limit E - A limit that is no positive whole number
IL304 bad-on-busy E F A policy that is not allowed in this place
IL305 supersession-limit E F Supersession without a limit of one
IL306 supersession-key E - Supersession without a key
IL307 idle-supersession-key W - A supersession key that no policy uses
IL308 empty-section E - An empty section that holds nothing for the run
IL309 empty-branch E - No branches, or a branch without steps
IL310 limit-conflict E - One key with different limits
IL311 empty-key E - A resource key that is empty or too long
IL312 shared-lease W - Branches or items that share one lease
IL313 idle-limit H - A limit above the number of branches
IL314 protected-empty E - A protected section without steps
IL315 double-when E F Two conditions on one step
IL316 unchecked-claim W - A claim that may be skipped and is never checked
IL317 constant-key W - A key that does not tell runs apart, or excludes nobody
IL318 idle-field W - A field without effect
IL319 many-writes W - Several writes in one protected section
IL401 nested-wait E - A wait for a resource inside a held section
IL402 nested-section E - A section inside a held section
IL403 claim-in-protected E - A claim after a protected write may have begun
IL404 pause-in-protected E - A pause inside a protected section
IL405 dependency-wait-in-section E - A wait for other runs inside a held section
IL406 retry-in-protected E - A retry inside a protected section
IL407 hold-and-wait W - A wait while a lease of the run may be held
IL408 lock-order-cycle E - Leases taken in an order that can deadlock
IL409 wait-cycle E - Workflows that run each other forever
IL410 bad-quorum E - A quorum that is missing, impossible or unused
IL411 unknown-group E F A group that was not started before
IL412 unknown-workflow E F A workflow that does not exist
IL413 child-inputs E - Inputs that the child does not take
IL414 admission-deadlock E - A run that waits for its own slot
IL415 wait-in-handler E - A handler that is no block
IL416 name-as-run-id E - A workflow's name where a run id belongs
IL417 recursive-start W - A workflow that starts itself without a condition
IL501 secret-in-resource-key E - A secret in a resource key
IL502 secret-in-supersession-key E - A secret in a supersession key
IL503 secret-in-key E - A secret in an idempotency key
IL504 secret-literal W - A credential written into the file
IL505 secret-in-state W - A secret that would be stored
IL506 unknown-secret E F A secret that is not declared
IL507 secret-in-log E - A secret in a log message
IL508 secret-placement E - A secret outside the parameters of a block
IL601 bad-budget E - A budget that is no positive whole number
IL602 unbounded-loop W - A loop that nothing bounds
IL603 budget-too-small E - A budget that every path exceeds
IL604 items-over-budget E - A list longer than its budget
IL605 unbounded-fan-out W - Runs started without a bound
IL606 bad-cost E - A cost that is no whole number
IL607 deadline-too-short E - A deadline shorter than the delays
IL608 stuck-loop W - A loop whose way out never changes
IL701 unused-suppression W F A suppression that suppresses nothing
IL702 unknown-rule W - A rule that does not exist
IL703 cannot-suppress W F A suppression of an error of the language
"""


def _rules() -> dict[str, Rule]:
    rules: dict[str, Rule] = {}
    for line in _TABLE.strip().splitlines():
        code, name, severity, fix, title = line.split(" ", 4)
        rules[code] = Rule(code, name, _SEVERITIES[severity], fix == "F", title)
    return rules


RULES: dict[str, Rule] = _rules()
BY_NAME: dict[str, Rule] = {rule.name: rule for rule in RULES.values()}

#: Errors that only the workspace as a whole shows: they can be suppressed, and no dispatch is
#: refused for them.
WORKSPACE_ERRORS = frozenset({"IL310", "IL408", "IL409", "IL414"})


def find_rule(word: str) -> Rule | None:
    """The rule of a code or a name, in capitals or not."""
    return RULES.get(word.upper()) or BY_NAME.get(word.lower())


def advice(word: str) -> str:
    """What to do about a word that names no rule, as a clause."""
    if _FAMILY.fullmatch(word):
        return "rules are named one by one, and interlock rules lists them"
    near = nearest(word.lower(), BY_NAME) or nearest(word.upper(), RULES)
    return f'did you mean "{near}"?' if near else "interlock rules lists them"


def can_suppress(rule: Rule) -> bool:
    """Whether a suppression, ``--ignore`` or a severity may touch it (section 13)."""
    return rule.severity != "error" or rule.code in WORKSPACE_ERRORS
