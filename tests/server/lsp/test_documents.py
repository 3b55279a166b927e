"""Documents keep their text through any edit, in every encoding, whatever ends their lines."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.server.lsp.document import Document, Encoding, Lines, Place, width

ENCODINGS: tuple[Encoding, ...] = ("utf-8", "utf-16", "utf-32")
LETTERS = "ab\n\r\u2028\x85\x0c\x0b é😀{}:"


@given(st.text(LETTERS, max_size=40), st.sampled_from(ENCODINGS), st.data())
def test_an_edit_gives_the_text_and_lines_that_reading_it_anew_gives(
    text: str, encoding: Encoding, data: st.DataObject
) -> None:
    lines = Lines(text, encoding)
    for _ in range(4):
        start = data.draw(st.integers(0, len(lines.text)))
        end = data.draw(st.integers(start, len(lines.text)))
        new = data.draw(st.text(LETTERS, max_size=8))
        expected = lines.text[:start] + new + lines.text[end:]
        lines = lines.edited(start, end, new)
        assert lines.text == expected
        assert lines.starts == Lines(expected, encoding).starts


@given(st.text(LETTERS, max_size=40), st.sampled_from(ENCODINGS), st.data())
def test_a_place_leads_back_to_its_offset(text: str, encoding: Encoding, data: st.DataObject) -> None:
    lines = Lines(text, encoding)
    offset = data.draw(st.integers(0, len(text)))
    place = lines.place(offset)
    back = lines.offset(*place)
    inside_line_end = text[offset - 1 : offset + 1] == "\r\n"
    assert back == (offset - 1 if inside_line_end else offset)


@pytest.mark.parametrize(("encoding", "column"), [("utf-8", 5), ("utf-16", 3), ("utf-32", 2)])
def test_columns_count_units_of_the_encoding(encoding: Encoding, column: int) -> None:
    assert Lines("a😀b", encoding).place(2) == Place(0, column)
    assert Lines("a😀b", encoding).offset(0, column) == 2


def test_lines_of_the_protocol_end_at_a_lone_return_and_not_at_a_line_separator() -> None:
    lines = Lines("a\rb\u2028c\nd", "utf-16")
    assert lines.starts == [0, 2, 6]


def test_a_position_outside_counts_as_the_nearest_inside() -> None:
    lines = Lines("ab\r\ncd", "utf-16")
    assert lines.offset(0, 99) == 2
    assert lines.offset(99, 0) == 6
    assert lines.offset(-1, 5) == 0


def test_a_column_inside_of_a_character_counts_as_before_it() -> None:
    assert Lines("😀b", "utf-16").offset(0, 1) == 0


def test_a_lone_surrogate_of_a_client_is_no_crash() -> None:
    lines = Lines("a\ud83d b", "utf-8")
    assert lines.offset(0, width("a\ud83d", "utf-8")) == 2


def test_a_range_written_backwards_is_read_forwards() -> None:
    document = Document("u", "yaml", 1, "abcd", "utf-16")
    document.edit(Place(0, 3), Place(0, 1), "X")
    assert document.text == "aXd"


def test_many_random_edits_leave_what_the_editor_has() -> None:
    chance = random.Random(7)
    document = Document("u", "yaml", 1, "one: 1\r\ntwo: 2\n", "utf-16")
    text = document.text
    for _ in range(500):
        start = chance.randint(0, len(text))
        end = min(len(text), start + chance.randint(0, 3))
        new = "".join(chance.choice(LETTERS) for _ in range(chance.randint(0, 4)))
        first, last = document.lines.place(start), document.lines.place(end)
        if document.lines.offset(*first) != start or document.lines.offset(*last) != end:
            continue  # inside of CR LF no editor has a cursor
        document.edit(first, last, new)
        text = text[:start] + new + text[end:]
        assert document.text == text
