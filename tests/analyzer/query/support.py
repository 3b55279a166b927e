"""A text with a bar where the cursor is, and the questions asked there."""

from __future__ import annotations

from interlock.analyzer.analysis import FileModel, program_of, read_file
from interlock.analyzer.graph.program import Program, Unit
from interlock.analyzer.query.complete import complete
from interlock.analyzer.query.hover import hover
from interlock.analyzer.query.items import Item
from interlock.analyzer.source.text import SourceText

OTHER = """\
workflow: image.resize
description: Makes an image smaller.
inputs:
  url: string
  width: {type: integer, default: 100}
steps:
  - id: call
    block: http
    params: {url: "{inputs.url}"}
outputs:
  location: "{call.url}"
"""


class Asked:
    """One file with a cursor, beside other files of the workspace."""

    def __init__(self, text: str, others: dict[str, str] | None = None) -> None:
        assert text.count("|") == 1, "one bar for the cursor"
        self.offset = text.index("|")
        self.text = text.replace("|", "")
        self.file: FileModel = read_file(SourceText("here.workflow.yaml", self.text))
        self.files = [self.file]
        for path, other in (others if others is not None else {"other.workflow.yaml": OTHER}).items():
            self.files.append(read_file(SourceText(path, other)))
        self.program: Program = program_of(self.files)

    @property
    def unit(self) -> Unit | None:
        mine = [unit for unit in self.program.units if unit.workflow in self.file.workflows]
        return mine[0] if mine else None

    def items(self) -> list[Item]:
        return list(complete(self.file, self.program, self.unit, self.offset).items)

    def labels(self) -> list[str]:
        found = self.items()
        return [item.label for item in sorted(found, key=lambda item: (item.rank, item.order, item.label))]

    def replaced(self) -> str:
        """The text that a completion takes the place of."""
        found = complete(self.file, self.program, self.unit, self.offset)
        return self.text[found.start : found.end]

    def hover(self) -> str | None:
        found = hover(self.program, self.unit, self.file.tree.documents, self.file.suppressions, self.offset)
        return None if found is None else found.text
