"""Text to a tree: cuts a file into pieces, reads each by itself, and puts their nodes together.

A piece whose text has not changed since the previous parse keeps its nodes; a piece that is not YAML
is its own problem and nobody else's.  How a text is read is in ``build``, where it may be cut in
``cut``, and what is wrong with a refused piece in ``diagnose``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from interlock.analyzer.source.text import Piece, SourceText, Span
from interlock.analyzer.syntax.build import Built, Outer, Refusal, build
from interlock.analyzer.syntax.carve import inner_item, names_in, without
from interlock.analyzer.syntax.comments import find_comments, find_comments_in_ruins
from interlock.analyzer.syntax.cut import Cut, cut, documents, odd_line, top_lines, without_directives
from interlock.analyzer.syntax.diagnose import diagnose, illegal, outdented
from interlock.analyzer.syntax.mend import mend
from interlock.analyzer.syntax.nodes import (
    Chunk,
    Document,
    Entry,
    Node,
    Sequence,
    SyntaxProblem,
    Tree,
)
from interlock.analyzer.syntax.splice import (
    Unsuitable,
    awaits_items,
    duplicate_keys,
    end_offset,
    first_line,
    has_properties,
    is_block,
    is_open_ended,
    items_of,
    joined_root,
    key_column,
    piece_at,
    root_entries,
    within,
)
from interlock.analyzer.syntax.streams import (
    ended,
    fast_stream,
    has_odd,
    illegal_character,
    is_misread,
    pure_stream,
    with_stand_ins,
    without_inner_colons,
    without_inner_questions,
)
from interlock.analyzer.syntax.strict import directives, tight_comments

_KEY = re.compile(
    r"(?:---[ \t]+)?([^\s#:,\[\]{}\"'][^\s:]*)[ \t]*(?::|\r?\n|\Z)|\"([^\"\n]+)\"[ \t]*:|'([^'\n]+)'[ \t]*:"
)
_ANCHOR = re.compile(r"(?:^|(?<=[\s\[{,]))&([^\s,\[\]{}]+)")
_FLOW_ROOT = re.compile(r"(?:[ \t\r]*(?:#[^\n]*)?\n|---[ \t\r]*\n|---[ \t]+)*[ \t]*[\[{]")
_LONE_RETURN = re.compile(r"\r(?!\n)")
_MAX_JOINED = 4
"""How many times its own length a document may be read again to join pieces that belong together."""
_MOST_HOLES = 8
"""How many inner items of one broken item are left out before all of it is."""
_MAX_PURE = 20_000
"""Up to how many characters the slow parser is asked, too, whether pieces belong together."""


def parse_tree(source: SourceText, previous: Tree | None = None, *, pure: bool = False) -> Tree:
    """The tree of a file.  Never raises; what is wrong with the text is in ``problems``.

    With ``previous``, the tree of an earlier text of the same file, pieces of unchanged text are taken
    over with their nodes.  That moves them (``piece.base``, ``piece.source``), so ``previous`` must not
    be used any more.  ``pure`` reads without the C extension, to the same result.
    """
    return _Parse(source, previous, pure).tree()


class _Parse:
    def __init__(self, source: SourceText, previous: Tree | None, pure: bool) -> None:
        self.source = source
        self.pure = pure
        text = source.text
        if "\r" in text and text.count("\r") != text.count("\r\n"):
            text = _LONE_RETURN.sub("\n", text)  # a line end to YAML, and of the same length
        self.text = text
        self.odd = has_odd(text)
        self.outer = Outer({}, set())
        self.asked = (-1, "")
        self.answer = False
        self.before: tuple[Chunk, ...] = previous.chunks if previous else ()
        self.following = 0
        self.used: set[int] = set()
        self.memory: dict[tuple[str, str], list[int]] | None = None

    def tree(self) -> Tree:
        start = 1 if self.text.startswith("\ufeff") else 0
        found: list[Document] = []
        chunks: list[Chunk] = []
        problems: list[SyntaxProblem] = []
        for begin, end, full in documents(self.text, start):
            if self.text.startswith("\ufeff", begin, end):  # one may begin every document
                begin += 1
            if not full:
                chunks.append(self.remark(begin, end))
                problems.extend(chunks[-1].problems)
                continue
            slips = list(directives(self.text, begin, end)) if "%" in self.text else []
            changed = without_directives(self.text, begin, end)
            if changed is not None:
                self.text = changed
            document, parts = self.document(begin, end, slips)
            found.append(document)
            problems.extend(document.problems)
            chunks.extend(parts)
        return Tree(
            self.source,
            tuple(found),
            tuple(problems),
            tuple([comment for chunk in chunks for comment in chunk.comments]),
            tuple(chunks),
        )

    # One document.

    def document(self, start: int, end: int, slips: list[tuple[int, int, str]]) -> tuple[Document, list[Chunk]]:
        root, chunks, problems = self.read_document(start, end)
        if any(chunk.broken for chunk in chunks):
            broken = [(span.offset, span.end_offset) for chunk in chunks for span in chunk.broken]
            mended = mend(self.text, start, end, broken)
            if mended is not None:
                self.text = mended.text
                root, chunks, problems = self.read_document(start, end)
                slips = [*slips, *mended.slips]
                return self.finish(root, chunks, problems, slips, mended.dropped), chunks
        return self.finish(root, chunks, problems, slips, ()), chunks

    def read_document(self, start: int, end: int) -> tuple[Node | None, list[Chunk], list[SyntaxProblem]]:
        self.outer = Outer({}, set())
        places = cut(self.text, start, end)
        if places is not None:
            try:
                return self.spliced(places)
            except Unsuitable:
                self.outer = Outer({}, set())
        return self.whole(start, end)

    def finish(
        self,
        root: Node | None,
        chunks: list[Chunk],
        more: list[SyntaxProblem],
        slips: Iterable[tuple[int, int, str]],
        dropped: Iterable[tuple[int, int]],
    ) -> Document:
        problems = [problem for chunk in chunks for problem in chunk.problems]
        problems.extend(more)
        broken = [span for chunk in chunks for span in chunk.broken]
        for at, stop, message in slips:
            piece = piece_at(chunks, at)
            problems.append(SyntaxProblem("IL101", within(piece, at, stop), message))
        for at, stop in dropped:
            broken.append(within(piece_at(chunks, at), at, stop))
        problems.sort(key=lambda problem: problem.span.offset)
        broken.sort(key=lambda span: span.offset)
        return Document(
            root,
            tuple([chunk.piece for chunk in chunks]),
            tuple(problems),
            tuple(broken),
            tuple([name for chunk in chunks for name in chunk.broken_ids]),
            tuple([name for chunk in chunks for name in chunk.broken_keys]),
        )

    def whole(self, start: int, end: int) -> tuple[Node | None, list[Chunk], list[SyntaxProblem]]:
        """A document that is not cut; where it is refused, each entry at its margin by itself.

        A large one is not read by the slow parser: if libyaml was wrong, its entries will read.
        """
        begins = top_lines(self.text, start, end)
        tagged = "\n%TAG" in self.text or self.text.startswith("%TAG")
        apart = len(begins) > 1 and not tagged and not _FLOW_ROOT.match(self.text, start, end)
        large = apart and end - start > _MAX_PURE
        chunk = self.chunk("document", start, end, not large)
        if not chunk.broken or not apart:
            return chunk.root, [chunk], []
        parts, root = self.entries(begins, end)
        if large or any(part.broken for part in parts):
            return root, parts, duplicate_keys(root)
        problem = chunk.problems[0]  # only together are they wrong
        at = problem.span.offset
        moved = within(piece_at(parts, at), at, max(at + 1, problem.span.end_offset))
        return root, parts, [SyntaxProblem(problem.code, moved, problem.message, problem.hint)]

    def spliced(self, places: Cut) -> tuple[Node | None, list[Chunk], list[SyntaxProblem]]:
        """A document cut into head, items and tail."""
        head = self.chunk("head", places.start, places.items[0])
        if head.broken:
            if head.open_ended and self.reads(places.start, places.end):
                raise Unsuitable
            heads, _ = self.entries(top_lines(self.text, places.start, places.items[0]), places.items[0])
        else:
            heads = [self.take(head)]
        entries = [entry for one in heads for entry in root_entries(one)]
        if not entries or not awaits_items(entries[-1]):
            raise Unsuitable
        parts = list(self.items(places))
        items = [item for part in parts for item in items_of(part)]
        tails: list[Chunk] = []
        if places.tail < places.end:
            tail = self.chunk("tail", places.tail, places.end)
            if tail.broken:
                tails, _ = self.entries(top_lines(self.text, places.tail, places.end), places.end)
            else:
                tails = [self.take(tail)]
        piece = parts[0].piece
        steps_end = end_offset(items[-1]) - piece.base if items else len(piece.text.rstrip())
        steps = Sequence(piece, places.indent, steps_end, tuple(items), False)
        entries[-1] = Entry(entries[-1].key, steps)
        entries.extend(entry for one in tails for entry in root_entries(one))
        root = joined_root(entries)
        return root, [*heads, *parts, *tails], duplicate_keys(root)

    def entries(self, begins: list[int], end: int) -> tuple[list[Chunk], Node | None]:
        """The entries of a refused stretch, each read by itself, and the node that they make."""
        chunks: list[Chunk] = []
        for begin, stop in zip(begins, [*begins[1:], end], strict=True):
            chunk = self.chunk("entry", begin, stop)
            root = chunk.root
            if root is not None and (not is_block(root) or (chunks and has_properties(root))):
                chunk = self.misplaced(chunk)
            chunks.append(self.take(chunk))
        entries = [entry for chunk in chunks for entry in root_entries(chunk)]
        if entries:
            for index, chunk in enumerate(chunks):
                if isinstance(chunk.root, Sequence):
                    chunks[index] = self.misplaced(chunk)
            return chunks, joined_root(entries)
        lists = [chunk for chunk in chunks if isinstance(chunk.root, Sequence)]
        if not lists or lists[0].root is None:
            return chunks, None
        piece = lists[0].piece
        items = [item for chunk in lists for item in items_of(chunk)]
        end_in_piece = end_offset(items[-1]) - piece.base
        return chunks, Sequence(piece, lists[0].root.start, end_in_piece, tuple(items), False)

    def misplaced(self, chunk: Chunk) -> Chunk:
        """A stretch that is YAML by itself, but not what stands around it."""
        start = chunk.root.start if chunk.root is not None else 0
        refusal = Refusal("could not find expected ':'", "while scanning a simple key", start, start)
        problem = diagnose(chunk.piece, chunk.key, refusal)
        return self.fenced(chunk.kind, chunk.piece, chunk.key, (problem,), False, False)

    def items(self, places: Cut) -> Iterator[Chunk]:
        """The pieces of a cut ``steps``; those that only make sense together are joined."""
        begins = [*places.items, places.tail]
        budget = _MAX_JOINED * (places.end - places.start)
        index = 0
        count = len(begins) - 1
        while index < count:
            start = begins[index]
            chunk = self.chunk("item", start, begins[index + 1])
            if not chunk.broken:
                root = chunk.root
                if not isinstance(root, Sequence) or root.flow or has_properties(root):
                    raise Unsuitable
                yield self.take(chunk)
                index += 1
                continue
            if chunk.open_ended:
                joined, spent = self.joined(begins, index, places.end, budget)
                budget -= spent
                if joined > count:
                    raise Unsuitable
                if joined:
                    yield self.take(self.chunk("item", start, begins[joined]))
                    index = joined
                    continue
            yield from self.split(chunk, places, start, begins[index + 1])
            index += 1

    def joined(self, begins: list[int], index: int, end: int, budget: int) -> tuple[int, int]:
        """Which piece ends what an open bracket or quote in this one begins: 0 where none does.

        The number of ``begins`` means that it goes on behind the steps.  The second is the cost.
        """
        spent = 0
        step = 1
        last = len(begins) - 1
        while spent < budget:
            stop = min(index + 1 + step, last + 1)
            place = begins[stop] if stop <= last else end
            spent += place - begins[index]
            result = self.complete(begins[index], place)
            if isinstance(result, Built):
                return self.least(begins, index, stop, end), spent
            if stop > last or not is_open_ended(result, self.text[begins[index] : place]):
                return 0, spent
            step *= 2
        return 0, spent

    def least(self, begins: list[int], index: int, stop: int, end: int) -> int:
        """The smallest join that reads: nothing more should be read again after an edit."""
        low, high = index + 2, stop
        while low < high:
            middle = (low + high) // 2
            if isinstance(self.complete(begins[index], begins[middle]), Built):
                high = middle
            else:
                low = middle + 1
        return high

    def split(self, chunk: Chunk, places: Cut, start: int, end: int) -> Iterator[Chunk]:
        """A broken item; a line that cannot be part of the step ends it, and is fenced by itself.

        Such are a line at or before the column of the item's ``-``, and a list item in an odd column.
        """
        line = odd_line(chunk.key, places.indent)
        if line is not None:
            if self.reads(places.start, places.end):
                raise Unsuitable
        else:
            at = chunk.problems[0].span.start
            line = chunk.key.rfind("\n", 0, at) + 1
            if not chunk.key.startswith("- ", at) or chunk.key[line:at].strip() or not line:
                line = None
        if line is not None:
            first = self.chunk("item", start, start + line)
            if not first.broken and items_of(first):
                yield self.take(first)
                rest = self.chunk("item", start + line, end)
                yield self.take(rest if rest.broken else self.stray(rest, key_column(chunk.key, places.indent)))
                return
        yield self.take(self.carved(chunk) or chunk)

    def carved(self, chunk: Chunk) -> Chunk | None:
        """A broken item without those of its inner items that are broken; None where more is wrong."""
        text, piece = chunk.key, chunk.piece
        problem = chunk.problems[0]
        problems: list[SyntaxProblem] = []
        holes: list[tuple[int, int]] = []
        while len(holes) < _MOST_HOLES:
            problems.append(problem)
            hole = inner_item(text, problem.span.start)
            if hole is None:
                return None
            holes.append(hole)
            text = without(text, hole)
            result = self.attempt(piece, text, False)
            if isinstance(result, Built):
                return self.with_holes(chunk, text, result, problems, holes)
            problem = diagnose(piece, text, result)
        return None

    def with_holes(
        self, chunk: Chunk, text: str, built: Built, problems: list[SyntaxProblem], holes: list[tuple[int, int]]
    ) -> Chunk:
        root, piece = built.root, chunk.piece
        if not isinstance(root, Sequence) or root.flow or has_properties(root):
            raise Unsuitable
        lost = "\n".join(chunk.key[start:end] for start, end in holes)
        return Chunk(
            chunk.kind,
            chunk.key,
            piece,
            root,
            tuple(sorted((*problems, *built.problems), key=lambda one: one.span.start)),
            find_comments(piece, text, built.hashes),
            built.anchors,
            built.uses,
            built.expanded,
            False,
            False,
            tuple(Span(piece, start, end) for start, end in holes),
            names_in(lost),
            (),
            tuple(_ANCHOR.findall(lost)),
        )

    def stray(self, chunk: Chunk, column: int) -> Chunk:
        """A stretch that reads by itself, but does not stand where a step would.

        ``column`` is that of the keys of the step above it.
        """
        text = chunk.key
        start = len(text) - len(text.lstrip())
        if isinstance(chunk.root, Sequence) and not chunk.root.flow:
            problem = SyntaxProblem(
                "IL101",
                within(chunk.piece, chunk.piece.base + start, chunk.piece.base + start + 1),
                'this "-" does not stand in the column of the items before it; indent it as they are',
            )
            chunk.problems = (problem, *chunk.problems)
            chunk.reusable = False
            return chunk
        key = outdented(chunk.piece, text, chunk.root.start if chunk.root is not None else start, column)
        if key is not None:
            return self.fenced(chunk.kind, chunk.piece, text, (key,), False, False)
        return self.misplaced(chunk)

    # One piece.

    def piece(self, start: int, end: int) -> Piece:
        return Piece(self.source, self.source.text[start:end], start)

    def remark(self, start: int, end: int) -> Chunk:
        piece = self.piece(start, end)
        text = self.text[start:end]
        problems = tuple(
            SyntaxProblem("IL101", within(piece, at, stop), message)
            for at, stop, message in directives(self.text, start, end)
        )
        return Chunk("remark", text, piece, None, problems, find_comments(piece, text, ()), {}, {}, 0, False)

    def chunk(self, kind: str, start: int, end: int, thorough: bool = True) -> Chunk:
        """One piece read, or taken over from the previous tree."""
        if self.before:
            chunk = self.remembered(kind, start, end)
            if chunk is not None:
                return chunk
        return self.read(kind, self.text[start:end], start, end, thorough)

    def take(self, chunk: Chunk) -> Chunk:
        """A piece goes into the document: those behind it see its anchors."""
        outer = self.outer
        outer.expanded += chunk.expanded
        for name in chunk.broken_anchors:
            outer.anchors.pop(name, None)
            outer.lost.add(name)
        if chunk.anchors:
            outer.anchors.update(chunk.anchors)
            outer.lost.difference_update(chunk.anchors)
        return chunk

    def remembered(self, kind: str, start: int, end: int) -> Chunk | None:
        """The piece of the previous tree with this text: the one that comes next there, or any other."""
        before, at = self.before, self.following
        for number in (at, at + 1):
            if number < len(before):
                chunk = before[number]
                same = len(chunk.key) == end - start and self.text.startswith(chunk.key, start)
                if same and self.fits(number, kind, start, end):
                    return self.moved(number, start)
        if self.memory is None:
            self.memory = {}
            for number, chunk in enumerate(before):
                self.memory.setdefault((chunk.kind, chunk.key), []).append(number)
        for number in self.memory.get((kind, self.text[start:end]), ()):
            if self.fits(number, kind, start, end):
                return self.moved(number, start)
        return None

    def fits(self, number: int, kind: str, start: int, end: int) -> bool:
        """Whether a piece of the previous tree, of the same text, would be read as it was then."""
        chunk = self.before[number]
        if not chunk.reusable or chunk.kind != kind or number in self.used:
            return False
        anchors = self.outer.anchors
        if chunk.uses and any(anchors.get(name) is not node for name, node in chunk.uses.items()):
            return False
        return chunk.piece.text == (chunk.key if self.text is self.source.text else self.source.text[start:end])

    def moved(self, number: int, start: int) -> Chunk:
        chunk = self.before[number]
        self.used.add(number)
        self.following = number + 1
        chunk.piece.base = start
        chunk.piece.source = self.source
        return chunk

    def read(self, kind: str, text: str, start: int, end: int, thorough: bool) -> Chunk:
        piece = self.piece(start, end)
        unique = kind == "document"
        result = self.attempt(piece, text, unique)
        if isinstance(result, Refusal) and not result.deep and not self.pure and thorough:
            result = self.attempt_pure(piece, text, unique)
        if isinstance(result, Built):
            problems = result.problems
            if self.odd and (at := illegal_character(text)) is not None:
                problems = (illegal(piece, at), *problems)
            comments = find_comments(piece, text, result.hashes)
            if "#" in text:
                problems = (*problems, *tight_comments(piece, text, result.root, comments))
            return Chunk(
                kind,
                text,
                piece,
                result.root,
                problems,
                comments,
                result.anchors,
                result.uses,
                result.expanded,
                result.settled,
            )
        problem = diagnose(piece, text, result)
        return self.fenced(kind, piece, text, (problem,), is_open_ended(result, text))

    def attempt(self, piece: Piece, text: str, unique: bool) -> Built | Refusal:
        """A piece as libyaml reads it, helped over what it refuses wrongly."""
        if self.pure or is_misread(text):
            return self.attempt_pure(piece, text, unique)
        read, back = with_stand_ins(text) if self.odd else (text, {})
        easier = without_inner_questions(read)
        if easier is not None:
            read, back = easier[0], {**back, **easier[1]}
        stream = fast_stream(ended(read))
        if stream is None:
            return self.attempt_pure(piece, text, unique)
        result = build(stream, piece, read, self.outer, back or None, unique)
        if isinstance(result, Refusal) and not result.deep and "unexpected ':'" in result.problem:
            easier = without_inner_colons(read)
            if easier is not None:
                stream = fast_stream(ended(easier[0]))
                if stream is not None:
                    return build(stream, piece, easier[0], self.outer, {**back, **easier[1]}, unique)
        return result

    def attempt_pure(self, piece: Piece, text: str, unique: bool) -> Built | Refusal:
        read, back = with_stand_ins(text) if self.odd else (text, {})
        return build(pure_stream(ended(read)), piece, read, self.outer, back or None, unique)

    def complete(self, start: int, end: int) -> Built | Refusal:
        """A stretch read for the question only whether it is YAML; not at any price."""
        piece, text = self.piece(start, end), self.text[start:end]
        result = self.attempt(piece, text, False)
        if isinstance(result, Refusal) and not result.deep and not self.pure and len(text) <= _MAX_PURE:
            return self.attempt_pure(piece, text, False)
        return result

    def reads(self, start: int, end: int) -> bool:
        """Whether a whole document reads although a piece of it does not; asked once for each."""
        if self.asked != (start, self.text):
            self.asked = (start, self.text)
            self.answer = isinstance(self.complete(start, end), Built)
        return self.answer

    def fenced(
        self,
        kind: str,
        piece: Piece,
        text: str,
        problems: tuple[SyntaxProblem, ...],
        open_ended: bool,
        reusable: bool = True,
    ) -> Chunk:
        """A piece of which nothing goes into the tree but the names that it may define."""
        keys: tuple[str, ...] = ()
        if kind not in {"item", "head", "tail"}:
            keys = tuple(
                found[1] or found[2] or found[3]
                for place in top_lines(text, 0, len(text))
                if (found := _KEY.match(text, first_line(text, place)))
            )
        return Chunk(
            kind,
            text,
            piece,
            None,
            problems,
            find_comments_in_ruins(piece, text),
            {},
            {},
            0,
            reusable and not open_ended,
            open_ended,
            (Span(piece, len(text) - len(text.lstrip()), len(text.rstrip())),),
            names_in(text),
            keys,
            tuple(_ANCHOR.findall(text)),
        )
