"""The grammar of one statistics line: from its text to names and numbers.

| line | gives |
| --- | --- |
| ``gpu_stall_icnt2sh    = 7279`` | ``gpu_stall_icnt2sh`` |
| ``L2_BW  =       9.6238 GB/Sec`` | ``L2_BW`` (the first number, units left out) |
| ``gpgpu_simulation_rate = 750 (cycle/sec)`` | ``gpgpu_simulation_rate[cycle/sec]`` (the name comes twice) |
| ``gpgpu_simulation_time = 0 days, 0 hrs, 0 min, 1 sec (1 sec)`` | ``gpgpu_simulation_time``, seconds |
| ``L1D_cache_core[0]: Access = 96, Miss = 96`` | ``L1D_cache_core[0].Access``, ``L1D_cache_core[0].Miss`` |
| ``n_cmd=35791 n_nop=35723`` | ``n_cmd``, ``n_nop`` |
| ``traffic_breakdown_coretomem[GLOBAL_ACC_R] = 512 {8:64,}`` | the name, and ``name{8}`` |
| ``Stall:314  W0_Idle:34681`` | ``Warp_Occupancy[Stall]``, ``Warp_Occupancy[W0_Idle]`` |
| ``mrq_lat_table:232 27`` | ``mrq_lat_table[0]``, ``mrq_lat_table[1]`` |
| ``total dram reads = 1000`` / ``total accesses: 0`` | ``total dram reads`` / ``total accesses`` |
| ``bk0: 16a 35663i`` | ``bk0.a``, ``bk0.i`` |

Tables leave their zeros out. ``nan`` and ``inf`` are values nobody knows: they give no entry.
"""

import re
from functools import lru_cache

Number = int | float
Pairs = dict[str, Number]

MAX_NAME_BYTES = 200
MAX_NUMBER_BYTES = 40

_NUMBER = re.compile(rb"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+)")
_FIELD_KEY = re.compile(rb"([A-Za-z_][\w() -]*?) ?=(?= *[-\w.])")
_FIELD_VALUE = re.compile(rb"= *([^\s,;]+)")
_COLON_COUNTS = re.compile(rb"(\w+):(\d{1,18})\b")
_BANK_COUNTS = re.compile(rb"(\d{1,18})[ai]\b")
_COLON_VALUE = re.compile(rb"([A-Za-z][\w ./-]*?)\s*:\s*([-+]?[\d.]+(?:[eE][-+]?\d+)?)\s*!?$")
_FLITS = re.compile(rb"(\d{1,9}):(\d{1,18})\b")
_TABLE = re.compile(rb"([A-Za-z]\w*(?:_table|_bins|_dist))\s*:?\s*([-\d].*)$")
_UNIT = re.compile(rb"\(([A-Za-z]+/sec)\)")
_SECONDS = re.compile(rb"\((\d{1,18}) sec\)")


def parse_stat_line(line: bytes, prefix: str = "") -> Pairs:
    """The names and finite numbers of one line; empty for a heading or free text.

    ``prefix`` is the section that the line stands in; it is put before each name.
    """
    line = line.strip()
    equals = line.count(b"=")
    if equals == 0:
        return _without_equals(line, prefix)
    return _single(line, prefix) if equals == 1 else _several(line, prefix)


def parse_number(token: bytes) -> Number | None:
    """The number at the start of a token such as ``80.6279%`` or ``97796x``; None for ``nan``, ``inf`` and text."""
    if token.isdigit() and len(token) <= MAX_NUMBER_BYTES:
        return int(token)
    match = _NUMBER.match(token)
    if match is None or len(match[0]) > MAX_NUMBER_BYTES:
        return None
    try:
        return int(match[0])
    except ValueError:
        value = float(match[0])
        return value if abs(value) < float("inf") else None


def table_pairs(name: str, row: bytes) -> Pairs:
    """A row's cells as ``name[column]``; blanks or commas between them, without zeros and what is no number."""
    tokens = row.replace(b",", b" ").split()
    names = _cell_names(name, len(tokens))
    for number in (int, float):
        try:
            # nan and inf are the floats whose difference to themselves is not 0
            return {cell: v for cell, v in zip(names, map(number, tokens), strict=True) if v and v - v == 0}
        except ValueError:
            continue  # "none", or a unit
    return {cell: value for cell, token in zip(names, tokens, strict=True) if (value := parse_number(token))}


def _single(line: bytes, prefix: str) -> Pairs:
    left, _, right = line.partition(b"=")
    name = stat_name(left, prefix)
    value = parse_number(right.lstrip())
    if not name or value is None:
        return {}
    if name == "gpgpu_simulation_time":
        seconds = _SECONDS.search(right)
        return {name: int(seconds[1])} if seconds else {}
    if name == "gpgpu_simulation_rate":
        unit = _UNIT.search(right)
        return {f"{name}[{unit[1].decode()}]": value} if unit else {name: value}
    if b"{" in right:
        flits = {f"{name}{{{size.decode()}}}": int(count) for size, count in _FLITS.findall(right)}
        return {name: value, **flits}
    return {name: value}


def _several(line: bytes, prefix: str) -> Pairs:
    """``head: a = 1, b = 2``, ``a=1 b=2``, and ``average row locality = 1000/10 = 100``."""
    names = field_names(line, prefix)
    if names and len(names) == 1 and b"/" in line:
        # The last number is the quotient; the one before it is only its numerator.
        quotient = parse_number(line.rpartition(b"=")[2].strip())
        return {names[0]: quotient} if quotient is not None else {}
    return field_pairs(names, line) or {}


def field_names(line: bytes, prefix: str) -> tuple[str, ...]:
    """The full names of a line's fields, in order."""
    head, colon, rest = line.strip().partition(b": ")
    if colon and b"=" not in head:
        line, prefix = rest, f"{stat_name(head, prefix)}."
    return tuple(name for key in _FIELD_KEY.findall(line) if (name := stat_name(key, prefix)))


def field_pairs(names: tuple[str, ...], line: bytes) -> Pairs | None:
    """The fields of a line by their names, known from a line of the same form; None if the line has another form."""
    tokens = _FIELD_VALUE.findall(line)
    if len(tokens) != len(names):
        return None
    return {
        name: value for name, token in zip(names, tokens, strict=True) if (value := parse_number(token)) is not None
    }


def _without_equals(line: bytes, prefix: str) -> Pairs:
    if line.startswith(b"bk"):
        counts = _BANK_COUNTS.findall(line)
        return dict(zip(_bank_names(prefix, len(counts)), map(int, counts), strict=True))
    if line.startswith(b"Stall:"):
        return {f"Warp_Occupancy[{name.decode()}]": int(count) for name, count in _COLON_COUNTS.findall(line)}
    if line.startswith((b"single_issue_nums", b"dual_issue_nums")):
        head, _, rest = line.partition(b":")
        return {f"{head.decode()}[{name.decode()}]": int(count) for name, count in _COLON_COUNTS.findall(rest)}
    if table := _TABLE.match(line):
        return table_pairs(stat_name(table[1], prefix), table[2])
    if line.startswith(b"ctas_completed"):
        value = parse_number(line[15:])
        return {"ctas_completed": value} if value is not None else {}
    if match := _COLON_VALUE.match(line):
        value, name = parse_number(match[2]), stat_name(match[1], prefix)
        return {name: value} if value is not None and name else {}
    return {}


@lru_cache(maxsize=65536)
def stat_name(text: bytes, prefix: str) -> str:
    """A statistic's name, or nothing for what cannot be one (too long, or no letter at its start)."""
    text = text.strip().rstrip(b",")  # the power report has "gpu_avg_IBP, = 0.2"
    if not text or len(text) > MAX_NAME_BYTES or not (text[:1].isalpha() or text[:1] == b"_"):
        return ""
    return prefix + text.decode("utf-8", "replace")


@lru_cache(maxsize=16384)
def _cell_names(name: str, columns: int) -> tuple[str, ...]:
    return tuple(f"{name}[{column}]" for column in range(columns))


@lru_cache(maxsize=1024)
def _bank_names(prefix: str, counts: int) -> tuple[str, ...]:
    return tuple(f"{prefix}bk{number // 2}.{'ai'[number % 2]}" for number in range(counts))
