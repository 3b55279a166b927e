"""Templates and CEL: text in; a tree with exact spans, types, problems, and what is read out.

``template`` cuts a text into literal parts and expressions; ``lexer``, ``syntax`` and ``macros`` make an
``ast``; ``check`` (with ``calls`` and ``operators``) infers ``types`` against the table in ``functions``;
``uses`` and ``paths`` say what is read, under which guards, and what flows into the result. Nothing here
knows about files or workflows, and nothing evaluates: that is the runtime's part.
"""
