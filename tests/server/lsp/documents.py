"""Texts with marks where the cursor is, and the documents that tests open."""

from __future__ import annotations

from itertools import count
from typing import Any

from client import Client

_NUMBERS = count(1)

WORKFLOW = """\
workflow: order.ship
inputs:
  order: string
  note: {type: string, default: none}
secrets: [TOKEN]
budget: {max_transitions: 10}
steps:
  - id: fetch
    block: http
    params:
      url: "https://orders.example/{inputs.order}"
      headers: {Authorization: "Bearer {secrets.TOKEN}"}
  - id: both
    concurrency:
      branches:
        left:
          steps:
            - id: one
              block: set
              params: {n: 1}
          outputs: {n: "{one.n}"}
        right:
          steps:
            - id: two
              block: set
              params: {n: 2}
  - id: hold
    concurrency:
      resource: "order:{inputs.order}"
      steps:
        - id: write
          block: http
          params: {url: "https://orders.example/write", method: PUT, json: "{fetch.json}"}
          timeout: 90
  - id: told
    when: "{fetch.status == 200 && size(inputs.note) > 0}"
    block: log
    params: {message: "{both.branches.left.output.n} and {inputs.note}"}
    next: end
outputs:
  status: "{fetch.status}"
"""


class Opened:
    """A document that a client has open."""

    def __init__(self, client: Client, text: str, name: str = "") -> None:
        self.client = client
        self.uri = f"file:///nowhere/t{next(_NUMBERS)}/{name or 'a'}.workflow.yaml"
        self.text = text
        client.open(self.uri, text)

    def place(self, needle: str, into: int = 0, number: int = 0) -> dict[str, int]:
        """The position of a text in the document, ``into`` characters behind its start."""
        at = -1
        for _ in range(number + 1):
            at = self.text.index(needle, at + 1)
        at += into
        return {"line": self.text.count("\n", 0, at), "character": at - (self.text.rfind("\n", 0, at) + 1)}

    def ask(self, method: str, needle: str, into: int = 0, number: int = 0, **more: Any) -> Any:
        params = {"textDocument": {"uri": self.uri}, "position": self.place(needle, into, number), **more}
        return self.client.request(f"textDocument/{method}", params)

    def whole(self, method: str, **more: Any) -> Any:
        return self.client.request(f"textDocument/{method}", {"textDocument": {"uri": self.uri}, **more})

    def range_of(self, needle: str, number: int = 0) -> dict[str, Any]:
        start = self.place(needle, 0, number)
        return {"start": start, "end": self.place(needle, len(needle), number)}

    def said(self, found: dict[str, Any]) -> str:
        """The text of a range."""
        return cut(self.text, found)

    def diagnostics(self) -> list[dict[str, Any]]:
        return self.client.diagnostics(self.uri)

    def replace(self, text: str) -> None:
        self.text = text
        self.client.replace(self.uri, text)

    def edited(self, edits: list[dict[str, Any]]) -> str:
        """The text with edits applied."""
        return apply(self.text, edits)


def offset(text: str, place: dict[str, int]) -> int:
    """The offset of a position, for texts of one code unit a character and LF ends."""
    at = 0
    for _ in range(place["line"]):
        at = text.index("\n", at) + 1
    return at + place["character"]


def cut(text: str, found: dict[str, Any]) -> str:
    return text[offset(text, found["start"]) : offset(text, found["end"])]


def apply(text: str, edits: list[dict[str, Any]]) -> str:
    for edit in sorted(edits, key=lambda one: offset(text, one["range"]["start"]), reverse=True):
        start, end = offset(text, edit["range"]["start"]), offset(text, edit["range"]["end"])
        text = text[:start] + edit["newText"] + text[end:]
    return text


def edits_of(change: dict[str, Any], uri: str) -> list[dict[str, Any]]:
    """The edits of a workspace edit for one document."""
    found: list[dict[str, Any]] = []
    for one in change["documentChanges"]:
        if one["textDocument"]["uri"] == uri:
            found.extend(one["edits"])
    return found
