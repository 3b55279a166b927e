"""What a row of the language table can say: the types a field takes, and where it may stand."""

from __future__ import annotations

from typing import TypeAlias

import msgspec


class Text(msgspec.Struct, frozen=True):
    """A string.  With ``template``, expressions may stand in it and the value is written as text."""

    template: bool = False
    maximum: int | None = None


class Name(msgspec.Struct, frozen=True):
    """A literal name of section 2.  ``kind`` says of what: it chooses the pattern and the message."""

    kind: str


class Duration(msgspec.Struct, frozen=True):
    """A duration of section 3; read as seconds."""


class Whole(msgspec.Struct, frozen=True):
    """A whole number of at least ``minimum``; anything else is the rule ``code``."""

    minimum: int
    code: str


class Flag(msgspec.Struct, frozen=True):
    """A YAML boolean; with ``template``, a template of one boolean expression too."""

    template: bool = False


class Choice(msgspec.Struct, frozen=True):
    """One of a few words; another one is the rule ``code``."""

    words: tuple[str, ...]
    code: str = "IL112"


class Any(msgspec.Struct, frozen=True):
    """A value of any shape; with ``template``, expressions may stand in it at any depth."""

    template: bool = True


class Object(msgspec.Struct, frozen=True):
    """A mapping from free keys to values; ``names`` says what a key must be a name of, if anything."""

    names: str | None = None
    template: bool = True


class ListOf(msgspec.Struct, frozen=True):
    """A list; with ``template``, a template that gives one may stand instead."""

    of: FieldType
    template: bool = False


class Nested(msgspec.Struct, frozen=True):
    """A mapping of the shape called ``shape``; with ``scalar``, a single value may stand instead."""

    shape: str
    scalar: FieldType | None = None


class MapOf(msgspec.Struct, frozen=True):
    """A mapping from names of one kind to values of one type."""

    names: str
    of: FieldType


class Steps(msgspec.Struct, frozen=True):
    """A list of steps; ``blocks_only`` where nothing but blocks may stand (handlers)."""

    blocks_only: bool = False


FieldType: TypeAlias = Text | Name | Duration | Whole | Flag | Choice | Any | Object | ListOf | Nested | MapOf | Steps


class Field(msgspec.Struct, frozen=True):
    """One field of a mapping.  ``default`` is as a person would write it; None means there is none.

    ``on`` names the step kinds (or the places of ``concurrency``) that take the field; empty means
    that its mapping always takes it.
    """

    name: str
    type: FieldType
    doc: str
    required: bool = False
    default: str | None = None
    on: frozenset[str] = frozenset()


class Shape(msgspec.Struct, frozen=True):
    """One kind of mapping: its fields by name.  ``title`` is how messages speak of it."""

    name: str
    title: str
    doc: str
    fields: dict[str, Field]


class KindRow(msgspec.Struct, frozen=True):
    """One kind of step: the key that gives it, what its value is, and its family.

    Families: ``block``, ``branches``, ``resource``, ``for_each``, ``run_workflow``, ``start``,
    ``dependency``, ``signal``, ``delay``; a field's ``on`` uses these words.  ``concurrency`` is
    ``branches`` or ``resource``, as its own fields tell.
    """

    name: str
    type: FieldType
    families: tuple[str, ...]
    doc: str
    snippet: str


__all__ = [
    "Any",
    "Choice",
    "Duration",
    "Field",
    "FieldType",
    "Flag",
    "KindRow",
    "ListOf",
    "MapOf",
    "Name",
    "Nested",
    "Object",
    "Shape",
    "Steps",
    "Text",
    "Whole",
]
