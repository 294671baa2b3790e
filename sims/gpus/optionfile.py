"""The text of a ``gpgpusim.config`` or ``trace.config``: options by name, in order, with their place.

The grammar is that of GPGPU-Sim's option parser: ``-name value``, several on a line or a value on the next one, ``#``
starts a comment anywhere, double quotes hold a value together over blanks and lines, a name may stand without a
value, and the last of several equal names wins.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

MAX_CONFIG_BYTES = 4 * 1024 * 1024
_NAME = re.compile(r"-[A-Za-z_][\w:.]*$")
_TOKEN = re.compile(r'"([^"]*)"|"|\S+')
_CONFLICT = re.compile(r"^(<<<<<<<|=======|>>>>>>>|\|\|\|\|\|\|\|)", re.MULTILINE)
_PLACEHOLDER = re.compile(r"(?<![0-9A-Za-z])X{1,3}(?![0-9A-Za-z])")
_LETTERED = ("cache", "set_index")
"""Options in whose values a lone X is a letter code (the bitwise-XOR set index), no placeholder."""


class ConfigError(ValueError):
    """A configuration that cannot be used; ``problems`` has every reason, each one sentence with its file and line."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        more = f" (and {len(problems) - 1} more problems)" if len(problems) > 1 else ""
        super().__init__(problems[0] + more)


@dataclass(frozen=True, slots=True)
class Option:
    """One ``-name value`` as written; ``place`` is ``file:line``."""

    name: str
    value: str
    place: str


@dataclass
class OptionText:
    """All options of one text, in order, and what is wrong with it."""

    options: list[Option] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def read_option_file(path: Path) -> OptionText:
    """Read one config file; a folder, a missing or an oversized file is a problem in the answer, never an exception."""
    if path.is_dir():
        return OptionText(
            problems=[f"{path} is a folder, not a config file: Accel-Sim would silently run with its defaults."]
        )
    if not path.is_file():
        return OptionText(problems=[f"{path} does not exist."])
    try:
        if path.stat().st_size > MAX_CONFIG_BYTES:
            return OptionText(problems=[f"{path} is larger than {MAX_CONFIG_BYTES} bytes: that is no config file."])
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        return OptionText(problems=[f"{path} cannot be read: {error.strerror}."])
    return parse_options(text, path.name)


def parse_options(text: str, file_name: str) -> OptionText:
    """Parse the text of a config file; ``file_name`` is what messages call it."""
    if "\0" in text:
        return OptionText(problems=[f"{file_name} is not a text file."])
    if conflict := _CONFLICT.search(text):
        line = text.count("\n", 0, conflict.start()) + 1
        return OptionText(
            problems=[f"{file_name}:{line} has the conflict marker {conflict[1]} of an unfinished merge: resolve it."]
        )
    result = OptionText()
    name, name_place = "", ""
    for token, quoted, line in _tokens(text, file_name, result):
        place = f"{file_name}:{line}"
        if not quoted and _NAME.match(token):
            if name:
                result.options.append(Option(name, "", name_place))
            name, name_place = token[1:], place
        elif name:
            result.options.append(Option(name, token, name_place))
            name = ""
        else:
            result.warnings.append(f"{place} has the word {token[:40]!r} that belongs to no option: it is left out.")
    if name:
        result.options.append(Option(name, "", name_place))
    result.problems += [_placeholder_problem(option) for option in result.options if _is_placeholder(option)]
    return result


def _tokens(text: str, file_name: str, result: OptionText) -> Iterator[tuple[str, bool, int]]:
    """Words and quoted values with the line each starts on; comments are cut first, also inside quotes, as upstream."""
    stripped = "\n".join(line.split("#", 1)[0] for line in text.splitlines())
    line, position = 1, 0
    for match in _TOKEN.finditer(stripped):
        line += stripped.count("\n", position, match.start())
        position = match.start()
        if match[0] == '"':
            result.problems.append(f"{file_name}:{line} opens a quote that is never closed.")
            return
        quoted = match[1] is not None
        yield (" ".join(match[1].split()) if quoted else match[0]), quoted, line


def _is_placeholder(option: Option) -> bool:
    return bool(_PLACEHOLDER.search(option.value)) and not any(part in option.name for part in _LETTERED)


def _placeholder_problem(option: Option) -> str:
    return (
        f"{option.place} still has the tuner's placeholder in -{option.name} {option.value[:60]}: put a number there "
        "(the tuner's scripts fill it in from a measurement)."
    )
