"""Fuzzing the analyzer: mutated texts through everything that reads them, N of them from SEED on.

``python tests/fuzz/campaign.py --count 1000000 --jobs 2``; a text that breaks something is made smaller, written to
``--kept`` and named, and the campaign goes on.  A seed gives the same text every time.  With ``--guided`` atheris,
where it is installed (PyPI), steers the mutations by the code that they reach.  With ``--protocol N`` the seeds are
conversations with the language server instead, of N messages each; with ``--expressions`` they are expressions,
which we and the runtime have to read alike.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from types import FrameType

sys.path.insert(0, str(Path(__file__).parent.parent))

SECONDS = 30
"""Seconds of the processor for one text of at most 20,000 bytes: far more than any takes, so that it is a hang."""
CHUNK = 200


class Hang(Exception):
    """A text took too long."""


def tried(data: bytes, seed: int) -> str | None:
    """What went wrong with a text: the last line of the traceback, with the place; None if nothing did."""
    from fuzz.target import everything

    def ring(number: int, frame: FrameType | None) -> None:
        raise Hang(f"more than {SECONDS} s of the processor")

    signal.signal(signal.SIGVTALRM, ring)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        everything(data, seed)
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__} in {Path(place.filename).name}:{place.lineno} {place.name}: {str(error)[:200]}"
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return None


def smaller(data: bytes, seed: int, same: str) -> bytes:
    """The text without lines and characters that the fault does not need."""
    mark = same.split(":")[0]

    def fails(text: bytes) -> bool:
        said = tried(text, seed)
        return said is not None and said.split(":")[0] == mark

    for pieces in (lambda text: text.splitlines(keepends=True), lambda text: [bytes([each]) for each in text]):
        data = _without(data, pieces, fails)
    return data


def _without(data: bytes, cut: Callable[[bytes], list[bytes]], fails: Callable[[bytes], bool]) -> bytes:
    parts = cut(data)
    size, tries = max(1, len(parts) // 2), 0
    while tries < 400:
        at = 0
        while at < len(parts) and tries < 400:
            tries += 1
            rest = parts[:at] + parts[at + size :]
            if fails(b"".join(rest)):
                parts = rest
            else:
                at += size
        if size == 1:
            break
        size //= 2
    return b"".join(parts)


def chunk(first: int, count: int) -> tuple[int, list[tuple[int, bytes, str]], int]:
    """Seeds that follow each other: how many, what broke, and the most memory in KiB."""
    from fuzz.mutate import corpus, mutated

    texts = corpus()
    broken = []
    for seed in range(first, first + count):
        data = mutated(random.Random(seed), texts)
        said = tried(data, seed)
        if said is not None:
            broken.append((seed, smaller(data, seed, said), said))
    return count, broken, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def guided(runs: int, kept: Path) -> int:
    """libFuzzer by way of atheris, from the same corpus."""
    try:
        import atheris  # type: ignore[import-not-found]
    except ImportError:
        print("--guided needs atheris (pip install atheris).", file=sys.stderr)
        return 2
    with atheris.instrument_imports(include=["interlock.analyzer"]):
        from fuzz.target import everything
    from fuzz.mutate import corpus, mutated

    texts = corpus()
    folder = kept / "guided"
    folder.mkdir(parents=True, exist_ok=True)
    for text in texts:
        (folder / hashlib.sha256(text).hexdigest()[:16]).write_bytes(text)

    def mutator(data: bytes, most: int, seed: int) -> bytes:
        rng = random.Random(seed)
        return mutated(rng, [data or rng.choice(texts), *rng.sample(texts, 2)])[:most]

    words = [sys.argv[0], f"-runs={runs}", "-max_len=20000", f"-artifact_prefix={kept}/", "-timeout=60", str(folder)]
    atheris.Setup(words, lambda data: everything(data, 0) and None, custom_mutator=mutator)
    atheris.Fuzz()
    return 0


def main() -> int:
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--count", type=int, default=100_000)
    reader.add_argument("--seed", type=int, default=0)
    reader.add_argument("--jobs", type=int, default=2)
    reader.add_argument("--kept", type=Path, default=Path("fuzz-kept"), help="where texts that break something go")
    reader.add_argument("--guided", action="store_true")
    reader.add_argument("--protocol", type=int, metavar="N", help="talk to the language server, N messages a session")
    reader.add_argument("--expressions", action="store_true", help="hold our expressions to the runtime's instead")
    options = reader.parse_args()
    if options.expressions:
        from fuzz.expressions import hold

        return 1 if hold(options.seed, options.count) else 0
    if options.protocol:
        from fuzz.protocol import sessions

        return 1 if sessions(options.seed, options.count, options.protocol) else 0
    if options.guided:
        return guided(options.count, options.kept)
    begun, done, peak = time.monotonic(), 0, 0
    faults: dict[str, int] = {}
    ends = options.seed + options.count
    with ProcessPoolExecutor(options.jobs) as pool:
        jobs = [pool.submit(chunk, at, min(CHUNK, ends - at)) for at in range(options.seed, ends, CHUNK)]
        for number, job in enumerate(jobs, 1):
            count, broken, memory = job.result()
            done, peak = done + count, max(peak, memory)
            for seed, data, said in broken:
                mark = said.split(":")[0]
                faults[mark] = faults.get(mark, 0) + 1
                if faults[mark] == 1:
                    options.kept.mkdir(exist_ok=True)
                    path = options.kept / f"seed-{seed}.yaml"
                    path.write_bytes(data)
                    print(f"seed {seed}: {said}\n  {path}, {len(data)} bytes", flush=True)
            if number * 20 // len(jobs) != (number - 1) * 20 // len(jobs) or sys.stderr.isatty():
                passed = time.monotonic() - begun
                left = passed / done * (options.count - done)
                print(
                    f"{done:,} texts, {done / passed:,.0f}/s, {left:,.0f} s to go, {len(faults)} faults",
                    file=sys.stderr,
                )
    print(
        f"{done:,} texts in {time.monotonic() - begun:,.0f} s, at most {peak // 1024:,} MiB; faults: {faults or 'none'}"
    )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
