"""ruamel's pure Python reader, scanner and parser as an event stream, made to follow YAML 1.2.

ruamel's scanner refuses or misreads some of what the specification allows: tabs as separation, the
``?`` and ``:`` of flow style, keys of flow mappings that span lines, blank first lines of block text.
Those few methods are replaced here; everything else is ruamel's.
"""

from __future__ import annotations

from typing import Any

from ruamel.yaml import tokens
from ruamel.yaml.events import MappingStartEvent
from ruamel.yaml.parser import Parser
from ruamel.yaml.reader import Reader
from ruamel.yaml.scanner import Scanner, ScannerError

_BREAKS = "\r\n"
_END = "\0\r\n"
_SPACE = "\0 \t\r\n"
_FLOW = ",[]{}"
_INDICATORS = "\0 \t\r\n-?:,[]{}#&*!|>'\"%@`"
_KEY_LENGTH = 1024
# The halves of surrogate pairs: high ones, low ones, and where ordinary characters go on.
_HIGH, _LOW, _NO_SURROGATE = "\ud800", "\udc00", "\ue000"


class _Scanner(Scanner):
    def stale_possible_simple_keys(self) -> None:
        """A key of ``{…}`` may span lines; any other is on one line (sections 7.4.2 and 8.2.2)."""
        reader = self.reader
        for level, key in list(self.possible_simple_keys.items()):
            spans = 0 < level <= len(self.flow_context) and self.flow_context[level - 1] == "{"
            if (key.line != reader.line and not spans) or reader.index - key.index > _KEY_LENGTH:
                if key.required:
                    raise ScannerError(
                        "while scanning a simple key",
                        key.mark,
                        "could not find expected ':'",
                        reader.get_mark(),
                    )
                del self.possible_simple_keys[level]

    def check_key(self) -> bool:
        following = self.reader.peek(1)
        return following in _SPACE or (bool(self.flow_level) and following in _FLOW)

    def check_value(self) -> bool:
        following = self.reader.peek(1)
        if following in _SPACE or not self.flow_level:
            return following in _SPACE
        if following in _FLOW:
            return True
        if self.flow_level not in self.possible_simple_keys or not self.tokens:
            return False
        before = self.tokens[-1]
        if isinstance(before, tokens.ScalarToken):
            return not before.plain
        return isinstance(before, tokens.FlowSequenceEndToken | tokens.FlowMappingEndToken)

    def check_plain(self) -> bool:
        first = self.reader.peek()
        if first not in _INDICATORS:
            return True
        following = self.reader.peek(1)
        if first not in "-?:" or following in _SPACE:
            return False
        # [-] is no YAML, but libyaml takes it, and what it means is clear.
        return first == "-" or not self.flow_level or following not in _FLOW

    def scan_tag(self) -> Any:
        """A tag ends at a tab, too, and in flow style before an indicator of it (section 6.8.1)."""
        reader = self.reader
        length = 1
        while reader.peek(length) not in _SPACE and reader.peek(length) not in _FLOW:
            length += 1
        following = reader.peek(length)
        start_mark = reader.get_mark()
        if following in _FLOW and not self.flow_level and reader.peek(1) != "<":
            problem = f"expected a space, but found {following!r}"
            raise ScannerError("while scanning a tag", start_mark, problem, reader.get_mark())
        written = reader.prefix(length)
        if "%" in written or written[1:2] == "<":
            return super().scan_tag()
        if following != "\t" and (not self.flow_level or following not in ",]}"):
            return super().scan_tag()
        reader.forward(length)
        handle, mark, suffix = written[1:].rpartition("!")
        named = ("!" + handle + mark, suffix) if mark else ("!", suffix)
        return tokens.TagToken(named, start_mark, reader.get_mark())

    def scan_to_next_token(self) -> None:
        """Spaces, comments and line ends; a tab may separate, but never stand where a block begins."""
        reader = self.reader
        while True:
            while reader.peek() == " " or (reader.peek() == "\t" and self._skip_tab()):
                reader.forward()
            if reader.peek() == "#":
                while reader.peek() not in _END:
                    reader.forward()
            if not self.scan_line_break():
                return
            if not self.flow_level:
                self.allow_simple_key = True

    def _skip_tab(self) -> bool:
        if self.flow_level or not self.allow_simple_key:
            return True
        reader = self.reader
        ahead = 0
        while reader.peek(ahead) in " \t":
            ahead += 1
        if reader.peek(ahead) in _END or reader.peek(ahead) == "#":
            reader.forward(ahead - 1)  # all of it, or each tab would look at all that follow it
            return True
        line = reader.buffer[reader.pointer - reader.column : reader.pointer]
        if not line.strip(" ") and len(line) <= self.indent:
            return False
        self.allow_simple_key = False  # no block collection begins behind a tab
        return True

    def scan_flow_scalar_non_spaces(self, double: Any, start_mark: Any) -> Any:
        """An escape gives one character of Unicode; two that are a surrogate pair, as JSON writes it, give one."""
        try:
            chunks = super().scan_flow_scalar_non_spaces(double, start_mark)
        except (ValueError, OverflowError):  # from chr()
            chunks = ["\ud800"]
        joined: list[str] = []
        for chunk in chunks:
            if joined and _HIGH <= joined[-1] < _LOW <= chunk < _NO_SURROGATE:
                joined[-1] = (joined[-1] + chunk).encode("utf-16", "surrogatepass").decode("utf-16")
            else:
                joined.append(chunk)
        if any(_HIGH <= chunk < _NO_SURROGATE for chunk in joined):
            problem = "found an escape of no character"
            raise ScannerError("while scanning a double-quoted scalar", start_mark, problem, start_mark)
        return joined

    def scan_block_scalar_indicators(self, start_mark: Any) -> tuple[bool | None, int | None]:
        reader = self.reader
        chomping: bool | None = None
        increment: int | None = None
        while True:
            character = reader.peek()
            if chomping is None and character in "+-":
                chomping = character == "+"
            elif increment is None and character in "0123456789":
                increment = int(character)
                if not increment:
                    raise ScannerError(
                        "while scanning a block scalar",
                        start_mark,
                        "expected indentation indicator in the range 1-9, but found 0",
                        reader.get_mark(),
                    )
            else:
                break
            reader.forward()
        if reader.peek() not in _SPACE:
            raise ScannerError(
                "while scanning a block scalar",
                start_mark,
                f"expected chomping or indentation indicators, but found {reader.peek()!r}",
                reader.get_mark(),
            )
        while reader.peek() == "\t" or (reader.peek() == " " and reader.peek(1) == "\t"):
            reader.forward()
        return chomping, increment

    def scan_block_scalar_indentation(self) -> tuple[list[Any], int, Any]:
        reader = self.reader
        breaks = []
        deepest = 0
        end_mark = reader.get_mark()
        while reader.peek() in " \r\n":
            if reader.peek() == " ":
                reader.forward()
                deepest = max(deepest, reader.column)
            else:
                breaks.append(self.scan_line_break())
                end_mark = reader.get_mark()
        self._no_tab(max(self.indent + 1, deepest))
        return breaks, deepest, end_mark

    def scan_block_scalar_breaks(self, indent: int) -> Any:
        found = super().scan_block_scalar_breaks(indent)
        self._no_tab(indent)
        return found

    def _no_tab(self, indent: int) -> None:
        """A line of block text is not indented by tabs, not even a blank one."""
        reader = self.reader
        if reader.peek() == "\t" and reader.column < indent:
            problem = "found a tab character where an indentation space is expected"
            raise ScannerError("while scanning a block scalar", None, problem, reader.get_mark())

    def scan_plain(self) -> Any:
        reader = self.reader
        peek = reader.peek
        chunks: list[str] = []
        start_mark = end_mark = reader.get_mark()
        indent = self.indent + 1
        flow = bool(self.flow_level)
        spaces: list[str] = []
        while peek() != "#":
            length = 0
            while True:
                character = peek(length)
                if character in _SPACE or (flow and character in _FLOW):
                    break
                if character == ":":
                    following = peek(length + 1)
                    if following in _SPACE or (flow and following in _FLOW):
                        break
                length += 1
            if not length:
                break
            self.allow_simple_key = False
            chunks.extend(spaces)
            chunks.append(reader.prefix(length))
            reader.forward(length)
            end_mark = reader.get_mark()
            spaces = self.scan_plain_spaces(indent, start_mark)
            if not spaces or (not flow and reader.column < indent):
                break
        return tokens.ScalarToken("".join(chunks), True, start_mark, end_mark)

    def scan_plain_spaces(self, indent: int, start_mark: Any) -> list[str]:
        reader = self.reader
        peek = reader.peek
        length = 0
        while peek(length) in " \t":
            length += 1
        whitespace = reader.prefix(length)
        reader.forward(length)
        if peek() not in _BREAKS:
            return [whitespace] if whitespace else []
        self.scan_line_break()
        self.allow_simple_key = True
        breaks: list[str] = []
        while True:
            if reader.prefix(3) in {"---", "..."} and peek(3) in _SPACE:
                return []
            self._indentation_of_plain(indent, start_mark)
            if peek() not in _BREAKS:
                return breaks or [" "]
            breaks.append(self.scan_line_break())

    def _indentation_of_plain(self, indent: int, start_mark: Any) -> None:
        reader = self.reader
        while reader.peek() in " \t":
            if reader.peek() == "\t" and not self.flow_level and reader.column < indent:
                ahead = 1
                while reader.peek(ahead) in " \t":
                    ahead += 1
                if reader.peek(ahead) not in _END and reader.peek(ahead) != "#":
                    raise ScannerError(
                        "while scanning a plain scalar",
                        start_mark,
                        "found a tab character that violates indentation",
                        reader.get_mark(),
                    )
            reader.forward()


class _Parser(Parser):
    def parse_flow_sequence_entry(self, first: bool = False) -> Any:
        """``[: value]`` is a pair without a key (section 7.4.2)."""
        scanner = self.scanner
        if not first and scanner.check_token(tokens.FlowEntryToken):
            scanner.get_token()
            first = True
        if first and scanner.check_token(tokens.ValueToken):
            token = scanner.peek_token()
            self.state = self._no_key
            return MappingStartEvent(None, None, True, token.start_mark, token.end_mark, flow_style=True)
        return super().parse_flow_sequence_entry(first)

    def _no_key(self) -> Any:
        self.state = self.parse_flow_sequence_entry_mapping_value
        return self.process_empty_scalar(self.scanner.peek_token().start_mark)


class PureStream:
    """The wiring that ruamel's parts expect, without its constructors and resolvers."""

    processing_version = (1, 2)
    comment_handling = None

    def __init__(self, text: str) -> None:
        self._resolver = self
        self._reader = Reader(None, loader=self)
        # The reader would check every character again; what it must not see has a stand-in.
        self._reader.stream = ""
        self._reader.buffer = text + "\0"
        self._scanner = _Scanner(loader=self)
        self._parser = _Parser(loader=self)
        self.get_event = self._parser.get_event
