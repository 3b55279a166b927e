"""An edit reads again only what it changed, and the result is that of a fresh parse."""

from hypothesis import given, settings
from hypothesis import strategies as st

STEP = "  - id: s{0}\n    block: log\n    params: {{message: m{0}}}  # note {0}\n"
TEXT = "workflow: w\nsteps:\n" + "".join(STEP.format(n) for n in range(5)) + "outputs: {x: 1}\n"


def _steps(tree):
    return tree.documents[0].root.entries[1].value.items


def test_an_edit_keeps_the_nodes_of_the_other_steps(parse, flat):
    before = parse(TEXT)
    kept = list(_steps(before))
    changed = TEXT.replace("message: m2", "message: longer")
    after = parse(changed, before)
    assert [new is old for new, old in zip(_steps(after), kept, strict=True)] == [True, True, False, True, True]
    assert flat(after) == flat(parse(changed))
    assert all(node.piece.source is after.source for node in _steps(after))


def test_steps_of_the_same_text_stay_apart(parse, flat):
    text = "steps:\n" + "  - id: same\n    block: log\n" * 4
    before = parse(text)
    after = parse("# above\n" + text + "  - id: same\n    block: log\n", before)
    assert len({id(piece) for piece in after.documents[0].pieces}) == 6
    assert flat(after) == flat(parse("# above\n" + text + "  - id: same\n    block: log\n"))


def test_a_changed_anchor_reads_again_what_uses_it(parse, flat):
    text = "x-p: &p {a: 1}\nsteps:\n  - {id: s, p: *p}\n  - {id: t, p: 1}\n"
    before = parse(text)
    kept = _steps(before)
    after = parse(text.replace("a: 1", "a: 2"), before)
    assert _steps(after)[0] is not kept[0]
    assert _steps(after)[1] is kept[1]
    assert _steps(after)[0].entries[1].value.target.entries[0].value.data == 2


def test_mending_a_broken_step(parse, flat):
    broken = TEXT.replace("message: m3}", "message: m3")
    tree = parse(TEXT, parse(broken, parse(TEXT)))
    assert flat(tree) == flat(parse(TEXT))


PARTS = [
    "a: {b: [x, y]}\n", "- id: x\n", '  - id: q\n    k: "v"\n', "steps:\n", "outputs: {x: *a}\n", '"', "'",
    "{", "}", "[", "]", ": ", "- ", "? ", " # c", "\n", "\n\n", "\t", "    ", ": |\n", ">-\n", "&a ", "*a",
    "!!str ", "---\n", "<<: *a\n", "\u2028", "\r\n", "é🚀", "a?b", "https://x.y/z?a=b", "x:1", ",", "key\n",
    "x-a: &a {k: 1}\n", "<<<<<<< x\n", "{{- if }}\n", "  - &a\n    id: w\n", "\\",
]  # fmt: skip
texts = st.builds(
    lambda start, parts: start + "".join(parts),
    st.sampled_from(["", "workflow: w\n", TEXT, "steps:\n  - id: a\n"]),
    st.lists(st.sampled_from(PARTS), max_size=12),
)


@st.composite
def edited(draw, of=texts):
    text = draw(of)
    start = draw(st.integers(0, len(text)))
    end = min(len(text), start + draw(st.integers(0, 12)))
    return text, text[:start] + draw(st.sampled_from(PARTS)) + text[end:]


@settings(max_examples=400, deadline=None)
@given(edited())
def test_incremental_equals_fresh(parse, flat, pair):
    first, second = pair
    assert flat(parse(second, parse(first))) == flat(parse(second))


@settings(max_examples=300, deadline=None)
@given(edited())
def test_both_parsers_give_the_same_tree(parse, flat, pair):
    assert flat(parse(pair[1])) == flat(parse(pair[1], pure=True))


@settings(max_examples=400, deadline=None)
@given(edited())
def test_pieces_equal_the_whole(parse, flat, pair):
    text = pair[1]
    cut = parse(text)
    if not any(problem.code == "IL101" for problem in cut.problems):
        # A tag directive keeps a document in one piece and changes nothing else.
        if text.startswith(("---", "%", "\ufeff")) or "\n---" in text or len(cut.documents) != 1:
            return
        directive = "%TAG !x! tag:x,2000:\n---\n"
        whole = flat(parse(directive + text))
        assert len(parse(directive + text).documents[0].pieces) == 1
        assert _moved(whole, len(directive)) == flat(cut)


def _moved(value, by):
    """Everything a tree says, with its offsets moved back."""

    def node(one):
        if one is None:
            return None
        start, end = one[1]
        rest = list(one[2:])
        if one[0] == "alias" and rest[2] is not None:
            rest[2] -= by
        if one[0] == "mapping":
            rest[3] = [(node(key), node(item)) for key, item in rest[3]]
        if one[0] == "sequence":
            rest[3] = [node(item) for item in rest[3]]
        return (one[0], (start - by, end - by), *rest)

    return {
        "documents": [(node(root), broken, ids, keys) for root, broken, ids, keys in value["documents"]],
        "problems": [
            (code, start - by, end - by, message, [(place - by, word) for place, word in related])
            for code, start, end, message, related in value["problems"]
        ],
        "comments": [(text, start - by, end - by, alone) for text, start, end, alone in value["comments"]],
    }


@settings(max_examples=400, deadline=None)
@given(st.text(max_size=60) | st.text(alphabet="ab:-?#&*!|>'\"%@`{}[], \t\n\r\\\x0c\u2028\ufeff", max_size=60))
def test_any_text_gives_a_tree(parse, flat, text):
    tree = parse(text)
    for document in tree.documents:
        for piece in document.pieces:
            assert text.startswith(piece.text, piece.base)
    for problem in tree.problems:
        assert 0 <= problem.span.offset <= problem.span.end_offset <= len(text)
    for comment in tree.comments:
        assert comment.span.text == "#" + comment.text
    flat(tree)
