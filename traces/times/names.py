"""One kernel's many spellings: mangled in a trace, demangled in Nsight Systems, short in Nsight Compute.

Mangled names are read by the C++ runtime's own demangler (``cxxfilt`` calls ``__cxa_demangle``). The pure Python
``itanium_demangler`` was tried and refuses template arguments with expressions, which cub's and thrust's kernels have.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

import cxxfilt

# __cxa_demangle recurses: a name of a hostile length could use up the stack.
_MAX_MANGLED_CHARACTERS = 4096

_ANONYMOUS = re.compile(r"\(anonymous namespace\)|<unnamed>|\{anonymous\}|_GLOBAL__N_\w*|_INTERNAL_[0-9a-f]{8}_\w*")
_LITERAL_CAST = re.compile(r"\((?:unsigned |signed )?(?:bool|char|short|int|long|long long|unsigned)\)(?=-?\d)")
_LITERAL_SUFFIX = re.compile(r"(?<=\d)(?:ull|ul|ll|u|l)\b", re.IGNORECASE)
_ELABORATED = re.compile(r"\b(?:struct|class|enum) ")
_OPEN, _CLOSE = "<({[", ">)}]"


@dataclass(frozen=True, slots=True)
class KernelName:
    """A name taken apart, from the most to the least specific spelling."""

    full: str
    """Everything but the return type, without spaces: ``ns::gemm<float,4>(float*,int)``."""
    template: str
    """Without parameters, in which demanglers differ most: ``ns::gemm<float,4>``."""
    qualified: str
    """Without template arguments: ``ns::gemm``."""
    short: str
    """The bare function: ``gemm``."""

    @property
    def has_template_arguments(self) -> bool:
        """Whether the spelling says more than the function's name."""
        return self.template != self.qualified


@lru_cache(maxsize=65536)
def kernel_name(text: str) -> KernelName:
    """Take a name apart, whatever its spelling. Two spellings of one kernel agree in one of the four forms."""
    plain = _ANONYMOUS.sub("_anonymous_", demangled(text.strip()))
    plain = _ELABORATED.sub("", plain).replace("(bool)1", "true").replace("(bool)0", "false")
    plain = _LITERAL_CAST.sub("", plain)
    head, parameters = _split_parameters(plain)
    head = _LITERAL_SUFFIX.sub("", _without_return_type(head)).replace(" ", "")
    qualified = _without_templates(head)
    return KernelName(head + parameters.replace(" ", ""), head, qualified, qualified.rpartition("::")[2] or qualified)


def short_name(text: str, width: int) -> str:
    """The bare function in at most ``width`` characters, for a table: ``gemm``."""
    name = kernel_name(text).short
    return name if len(name) <= width else f"{name[: width - 3]}..."


def demangled(text: str) -> str:
    """The C++ spelling of an Itanium-mangled name, any other text as it is."""
    if not text.startswith("_Z") or len(text) > _MAX_MANGLED_CHARACTERS:
        return text
    try:
        return str(cxxfilt.demangle(text))
    except (cxxfilt.Error, UnicodeError):
        return text


def _split_parameters(text: str) -> tuple[str, str]:
    """The text before the last list of parameters outside of all brackets, and from there on."""
    depth, start = 0, None
    for place, character in enumerate(text):
        if character in _OPEN:
            if depth == 0 and character == "(" and not text.endswith("operator", 0, place):
                start = place
            depth += 1
        elif character in _CLOSE and not _is_arrow(text, place):
            depth = max(depth - 1, 0)
    return (text, "") if not start else (text[:start], text[start:])


def _without_return_type(head: str) -> str:
    """The part behind the last space outside of all brackets; ``operator new`` and the like keep theirs."""
    depth, start = 0, 0
    for place, character in enumerate(head):
        if character in _OPEN:
            depth += 1
        elif character in _CLOSE and not _is_arrow(head, place):
            depth = max(depth - 1, 0)
        elif character == " " and depth == 0 and not head.endswith("operator", 0, place):
            start = place + 1
    return head[start:] or head


def _without_templates(head: str) -> str:
    kept, depth = [], 0
    for place, character in enumerate(head):
        if character == "<" and not head.endswith("operator", 0, place):
            depth += 1
        elif character == ">" and depth and not _is_arrow(head, place):
            depth -= 1
        elif depth == 0:
            kept.append(character)
    return "".join(kept)


def _is_arrow(text: str, place: int) -> bool:
    return text[place] == ">" and text[place - 1 : place] == "-"
