"""Text that was meant for a terminal, to be shown on a page: its colours are kept, every other escape is dropped.

Escapes can do more than colour: set titles, make links, move the cursor over what was printed before.
"""

import re
from dataclasses import dataclass

_ESCAPE = re.compile(
    r"\x1b\[(?P<colours>[0-9;]*)m"
    r"|\x1b\[[0-?]*[ -/]*[@-~]"  # other control sequences
    r"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?"  # titles, links and other strings
    r"|\x1b[ -/]*[0-~]?"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f]"
)
_COLOURS = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of text in one look: ``""``, or ``ansi-red``, ``ansi-bold ansi-red`` and so on."""

    look: str
    text: str


def spans(text: str) -> list[Span]:
    """A line in pieces of one look each.

    >>> spans("a \\x1b[31mred\\x1b[0m word")
    [Span(look='', text='a '), Span(look='ansi-red', text='red'), Span(look='', text=' word')]
    """
    found: list[Span] = []
    bold, colour, place = False, "", 0

    def keep(piece: str) -> None:
        look = " ".join(f"ansi-{name}" for name in ("bold" if bold else "", colour) if name)
        if piece and found and found[-1].look == look:
            found[-1] = Span(look, found[-1].text + piece)
        elif piece:
            found.append(Span(look, piece))

    for escape in _ESCAPE.finditer(text):
        keep(text[place : escape.start()])
        place = escape.end()
        if escape["colours"] is not None:
            bold, colour = _changed(escape["colours"], bold, colour)
    keep(text[place:])
    return found


def _changed(codes: str, bold: bool, colour: str) -> tuple[bool, str]:
    for code in (int(part or 0) for part in codes[:40].split(";")):
        if code == 0:
            bold, colour = False, ""
        elif code in (1, 22):
            bold = code == 1
        elif 30 <= code <= 37 or 90 <= code <= 97:
            colour = _COLOURS[code % 10]
        elif code == 39:
            colour = ""
    return bold, colour
