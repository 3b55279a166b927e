"""What the parts of the engine promise each other: plain data and protocols, nothing that acts.

The kernel (``kernel.py``) owns every transaction; a worker, a client and a simulator drive it through
`Kernel`.  The kernel in turn reaches the outside only through `Evaluator`, `Blocks`, `Clock`, `Ids` and
`Cipher`.  Times are seconds since 1970 UTC as floats (`Clock.now`), durations are seconds; ``Json`` is a
JSON value as Python objects (int and float stay apart).  Run-time error codes and event kinds are closed
lists, in ``errors.py`` and ``events.py``; what people see of a store is in ``shown.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import msgspec

from interlock.engine.shown import (
    AdmissionInfo,
    Dispatched,
    Event,
    Export,
    LeaseInfo,
    Replayed,
    RunRow,
    RunStatus,
    SignalReceipt,
    Stats,
)

if TYPE_CHECKING:
    from interlock.analyzer.model.nodes import Condition, Workflow
    from interlock.analyzer.model.values import MapValue, Template, Value

Json: TypeAlias = Any
"""A JSON value: None, bool, int, float, str, list or dict with str keys."""

Scope: TypeAlias = Mapping[str, Json]
"""What an expression may read: root name (``inputs``, ``run``, a step id, …) → its JSON value."""

Effect: TypeAlias = Literal["none", "unknown"]
"""Of a failed block: nothing was done, or nobody knows (section 5.1)."""


# --- work ------------------------------------------------------------------------------------------


class Deferred(msgspec.Struct, frozen=True):
    """One template of a block's params that reads ``secrets``: only the worker fills it in.

    ``where`` is its place in the rendered params (null stands there meanwhile), ``text`` the template as
    written, ``whole`` whether it is exactly one expression, ``names`` the values of every other root
    that it reads.
    """

    where: tuple[str | int, ...]
    text: str
    whole: bool
    names: dict[str, Json] = {}


class Rendered(msgspec.Struct, frozen=True):
    """Params as far as they can be known without secrets, and what is left to fill in."""

    value: Json
    deferred: tuple[Deferred, ...] = ()


class Task(msgspec.Struct, frozen=True):
    """One attempt of one block, claimed by a worker.

    ``id`` names the work (the same over attempts and re-claims of one visit); ``claim`` is the fencing
    number of this claim: `Kernel.settle` with an older one is refused (and kept as evidence where the
    section is protected).  ``kind`` is ``block``, ``compensation`` or ``handler`` (a block of
    ``on_cancel`` or ``on_deadline``).  ``path`` is the step path with branch names and item positions
    (``par/left/fetch``, ``results/3/fetch``).  ``timeout`` bounds this attempt, None without one.
    ``idempotency_key`` stays the same over attempts, crash re-runs and run retries.  ``protected`` says
    that the block runs inside a protected section whose intent is stored.  ``known_secrets`` are texts
    that must be redacted in whatever the worker logs (the run's secret inputs); never log the task.
    """

    id: str
    claim: int
    run: str
    account: str
    workflow: str
    kind: str
    path: str
    visit: int
    attempt: int
    block: str
    params: Json
    deferred: tuple[Deferred, ...]
    idempotency_key: str
    timeout: float | None = None
    protected: bool = False
    deadline: float | None = None
    fence: int | None = None
    known_secrets: tuple[str, ...] = ()


class Success(msgspec.Struct, frozen=True, tag="success"):
    """A block returned.  ``secrets`` are the texts of its result that its manifest marks secret."""

    result: Json
    secrets: tuple[str, ...] = ()


class Failed(msgspec.Struct, frozen=True, tag="failed"):
    """A block failed with a code of section 12, or with a code of its own (``own``, the ``fail`` block)."""

    code: str
    message: str
    effect: Effect = "unknown"
    own: bool = False


Outcome: TypeAlias = Success | Failed


class Settled(msgspec.Struct, frozen=True):
    """What became of a `Kernel.settle`: ``accepted``, or refused because the claim was lost (``late``).

    ``evidence`` tells that a late result was kept on a review.
    """

    accepted: bool
    late: bool = False
    evidence: bool = False


class Settlement(msgspec.Struct, frozen=True):
    task: Task
    outcome: Outcome


class Claiming(msgspec.Struct, frozen=True):
    """What a worker asks for together with a settlement: up to ``limit`` tasks of ``blocks`` (None: any).

    ``tree`` restricts to the work of that run, of the runs that it started at any depth, and of those
    that these wait for.  ``without`` names tasks that the worker leaves to others for now.
    """

    worker: str
    limit: int
    blocks: frozenset[str] | None = None
    tree: str | None = None
    without: frozenset[str] = frozenset()


class Batch(msgspec.Struct, frozen=True):
    """The answer of `Kernel.settle_many`: one `Settled` per settlement, in order, and newly claimed tasks."""

    settled: tuple[Settled, ...]
    tasks: tuple[Task, ...] = ()


# --- what the core is given ------------------------------------------------------------------------


class EvaluationError(Exception):
    """A template could not be rendered.

    ``code``: ``expression``, ``null-in-text``, ``bad-key``, ``bad-value`` or ``bad-next``.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Evaluator(Protocol):
    """Renders what a workflow wrote against a scope; pure.  Every method raises `EvaluationError`."""

    def value(self, value: Value, scope: Scope) -> Json:
        """The JSON value of a literal, template, list or map; a whole template keeps its type."""
        ...

    def text(self, value: Value, scope: Scope) -> str:
        """The value of a field that takes text (section 3); ``null-in-text`` where null would be written."""
        ...

    def key(self, value: Value, scope: Scope) -> str:
        """A resource, supersession or idempotency key: scalar text, not empty, at most 512 characters;
        else ``bad-key`` (null is ``null-in-text``)."""
        ...

    def condition(self, condition: Condition, scope: Scope) -> bool:
        """A ``when``; anything but a boolean is ``expression``."""
        ...

    def params(self, value: MapValue | None, scope: Scope) -> Rendered:
        """A block's params; templates that read ``secrets`` are left as `Deferred`."""
        ...

    def next(self, template: Template, scope: Scope) -> str:
        """The text of a ``next`` template; anything but a string is ``bad-next``."""
        ...

    def until(self, value: Value, scope: Scope) -> float:
        """A timestamp, or RFC 3339 text, as seconds since 1970; else ``bad-value``."""
        ...


class Blocks(Protocol):
    """What the core must know of blocks; unknown names answer like a block of cost 1 with effects."""

    def cost(self, block: str) -> int:
        """The block's own default ``cost_units``."""
        ...

    def effects(self, block: str, params: Json) -> bool:
        """Whether a call with these params has outside effects (``http`` depends on the method)."""
        ...


class Clock(Protocol):
    def now(self) -> float:
        """Seconds since 1970; may jump (the kernel never lets store time go back)."""
        ...

    def monotonic(self) -> float:
        """The observer's own steady time, for beats of other workers."""
        ...


class Ids(Protocol):
    def run(self) -> str:
        """A new run id, unique for ever."""
        ...

    def token(self) -> str:
        """A new opaque id for anything else (signals, workers)."""
        ...

    def jitter(self) -> float:
        """A number in [0, 1) where spreading is wanted."""
        ...


class Cipher(Protocol):
    """Encryption at rest and redaction (section 11).  ``known`` are a run's own secret texts; the host's
    ``secrets`` are known to the cipher itself."""

    def seal(self, data: bytes) -> bytes: ...

    def unseal(self, data: bytes) -> bytes:
        """Raises ``CallerError('store-key')`` where the key does not fit."""
        ...

    def finds(self, text: str, known: Sequence[str]) -> bool:
        """Whether a secret of 6 characters or more occurs in the text (also base64 or URL-encoded)."""
        ...

    def redact(self, text: str, known: Sequence[str]) -> str:
        """The text with every secret, in all its forms, as ``***``."""
        ...


class Definition(Protocol):
    """A validated definition, as dispatched."""

    @property
    def name(self) -> str: ...

    @property
    def hash(self) -> str:
        """SHA-256 over the normalized definition's canonical JSON (RFC 8785), in hex."""
        ...

    @property
    def text(self) -> str:
        """The normalized definition as canonical JSON; `DefinitionLoader` makes an equal one of it."""
        ...

    @property
    def workflow(self) -> Workflow: ...

    @property
    def closure(self) -> Mapping[str, Definition]:
        """Every workflow that it can start at any depth, itself included if it can, by name."""
        ...

    @property
    def closure_hash(self) -> str: ...


class DefinitionLoader(Protocol):
    """Makes a `Definition` of stored text; ``closure`` gives the texts of the others by name."""

    def __call__(self, text: str, closure: Mapping[str, str]) -> Definition: ...


class Services(msgspec.Struct, frozen=True, eq=False):
    """Everything that a kernel is given besides its store.

    ``resolve`` gives the current definition of a workflow name where a caller dispatches by name
    (None: unknown).  ``poison_after`` is how many workers one piece of work may kill.  ``lost_after``
    is how long, on the observer's own clock, a beat may stand still.
    """

    evaluator: Evaluator
    blocks: Blocks
    clock: Clock
    ids: Ids
    cipher: Cipher
    load: DefinitionLoader
    poison_after: int = 3
    lost_after: float = 15.0
    synchronous: Literal["FULL", "NORMAL", "OFF"] = "FULL"
    trace: Callable[[str], None] | None = None
    """Called with the name of each commit point before and after it (crash tests, simulation)."""


# --- the kernel ------------------------------------------------------------------------------------


class Kernel(Protocol):
    """The one owner of transactions of a store in this process.

    Every verb is synchronous and one durable transaction: when it returns, what it says is stored.
    Made by ``kernel.open_kernel(url, services)``.  All verbs may be called from any thread (one lock
    serializes them); several processes may open the same SQLite store.  Verbs raise
    `errors.CallerError`: a code of section 12 and one sentence.
    """

    def close(self) -> None:
        """Close the store; further verbs raise.  Claimed tasks stay claimed until the worker is lost."""
        ...

    def dispatch(
        self,
        definition: Definition,
        inputs: Mapping[str, Json],
        *,
        account: str = "default",
        idempotency_key: str | None = None,
    ) -> Dispatched:
        """Store a new run.  Codes: inputs-refused, needs-store, and the store's own."""
        ...

    def dispatch_many(
        self,
        requests: Sequence[tuple[Definition, Mapping[str, Json]]],
        *,
        account: str = "default",
    ) -> list[Dispatched]:
        """Many dispatches in one transaction: all of them, or the first error and none."""
        ...

    def signal(self, run: str, name: str, payload: Json = None, *, signal_id: str | None = None) -> SignalReceipt:
        """Codes: unknown-run, run-ended, bad-payload, payload-too-large, budget-exceeded."""
        ...

    def cancel(self, run: str, *, reason: str = "") -> None:
        """Ask for a stop; acknowledged when stored.  Codes: unknown-run, run-ended."""
        ...

    def retry(self, run: str) -> None:
        """Codes: unknown-run, not-retryable."""
        ...

    def review(
        self,
        run: str,
        decision: Literal["committed", "not-committed", "abandon"],
        *,
        path: str | None = None,
        result: Json = None,
        by: str = "",
    ) -> None:
        """Settle the open review of the section at ``path`` (None: the only one).  ``result`` is the
        section's ``outputs`` for ``committed``.  Codes: unknown-run, not-in-review, bad-payload."""
        ...

    def register(self, worker: str) -> None:
        """Make a worker known (claiming does so as well)."""
        ...

    def unregister(self, worker: str) -> None:
        """The worker ends by itself: its unfinished claims count as lost at once."""
        ...

    def workers(self) -> list[str]:
        """The workers that are known, alive or not yet noticed as lost."""
        ...

    def lose(self, worker: str) -> None:
        """The worker is known to be dead: as if its beat had stood still for long enough."""
        ...

    def claim(
        self,
        worker: str,
        limit: int,
        *,
        blocks: frozenset[str] | None = None,
        tree: str | None = None,
        without: frozenset[str] = frozenset(),
    ) -> list[Task]:
        """Up to ``limit`` ready tasks, oldest first; the rest restricts as in `Claiming`."""
        ...

    def settle(self, task: Task, outcome: Outcome) -> Settled:
        """Store the outcome of a claimed task and all that follows from it."""
        ...

    def settle_many(self, settlements: Sequence[Settlement], claim: Claiming | None = None) -> Batch:
        """Settle several in one transaction, then claim further tasks in it."""
        ...

    def hand_back(self, task: Task, *, reason: str, delay: float = 0.0) -> None:
        """Give a task back that has not begun; no attempt is spent.  Ready again after ``delay``."""
        ...

    def heartbeat(self, worker: str) -> None: ...

    def tick(self) -> float | None:
        """Fire due timers, work the inbox, notice lost workers.  Returns when the next timer is due
        (now or earlier: call again at once), None without any."""
        ...

    @property
    def last_time(self) -> float:
        """Store time as this process saw it last; it can be ahead of a wall clock that was set back."""
        ...

    def next_ready(self, tree: str | None = None, without: frozenset[str] = frozenset()) -> float | None:
        """When the next unclaimed task (of a run's ``tree``, else ``without`` some) becomes ready, None without any."""
        ...

    def status(self, run: str) -> RunStatus: ...

    def runs(
        self,
        *,
        account: str | None = None,
        workflow: str | None = None,
        status: str | None = None,
        limit: int = 100,
        before: str | None = None,
    ) -> list[RunRow]:
        """Newest first; ``before`` is the last run id of the page before."""
        ...

    def events(self, run: str | None = None, *, after: int = 0, limit: int = 1000) -> list[Event]:
        """In order, of one run or of all."""
        ...

    def outputs(self, run: str) -> Json:
        """What a completed run gives to its dependents (not redacted); None while it has not completed."""
        ...

    def leases(self, account: str = "default") -> list[LeaseInfo]: ...

    def queue(self, account: str = "default", workflow: str | None = None) -> list[AdmissionInfo]: ...

    def export(self, run: str) -> Export: ...

    def replay(self, run: str, *, any_version: bool = False) -> Replayed:
        """Decide a stored run again from its journal, and say whether it comes out the same."""
        ...

    def prune(self, older_than: float, *, limit: int = 1000) -> int:
        """Remove terminal runs that ended before this time, ``limit`` at most, and once none is left the
        definitions that no run has.  Keeps keys, fences and dispatch keys."""
        ...

    def stats(self) -> Stats: ...
