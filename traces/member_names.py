"""Which names an archive's members may have: relative paths that mean the same on every system, each once."""

import re
import unicodedata
from pathlib import PurePosixPath

from traces.accelsim import TraceError

MAX_NAME_LENGTH = 1024
MAX_PART_LENGTH = 255

_RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)
_NESTED = re.compile(r".*\.(zip|7z|rar|tar|tgz|txz|tzst|tar\.\w+)", re.IGNORECASE | re.DOTALL)


class MemberNames:
    """Checks the names of one archive's members in the order in which they come."""

    def __init__(self, archive: str) -> None:
        self._archive = archive
        self._files: set[str] = set()
        self._folders: set[str] = set()

    def accept_file(self, name: str) -> str:
        """The clean name (``./a/b`` is ``a/b``). Raises ``TraceError`` for a name that is refused."""
        clean = self._checked(name)
        if _NESTED.fullmatch(clean):
            raise self._refused(name, "is an archive in an archive: pack the files themselves")
        key = _key(clean)
        if key in self._files:
            raise self._refused(name, "comes twice (upper and lower case count as the same)")
        parents = {_key(str(parent)) for parent in PurePosixPath(clean).parents}
        if key in self._folders or parents & self._files:
            raise self._refused(name, "is a file and a folder at once")
        self._files.add(key)
        self._folders |= parents
        return clean

    def accept_folder(self, name: str) -> None:
        """Raises ``TraceError`` for a folder whose name is refused."""
        if name.strip("./"):
            self._checked(name.rstrip("/"))
        elif ".." in name or name.startswith("/"):
            raise self._refused(name, "points outside the archive")

    def _checked(self, name: str) -> str:
        reason = _why_refused(name)
        if reason:
            raise self._refused(name, reason)
        return str(PurePosixPath(name))

    def _refused(self, name: str, why: str) -> TraceError:
        shown = ascii(name if len(name) <= 80 else name[:80] + "...")
        return TraceError(f"its member {shown} {why}.", self._archive)


def _key(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold()


def _why_refused(name: str) -> str | None:
    if not name or len(name) > MAX_NAME_LENGTH:
        return f"has no name or one of more than {MAX_NAME_LENGTH} characters"
    # Some systems fold look-alikes (a "one dot leader", a full-width slash) to the plain sign: judge what they see.
    for form in {name, unicodedata.normalize("NFKC", name)}:
        parts = form.split("/")
        if ".." in parts or form.startswith("/") or "\\" in form or re.match(r"[A-Za-z]:", form):
            return "points outside the archive"
        if any(not character.isprintable() or 0xD800 <= ord(character) < 0xE000 for character in form):
            return "has a control character in its name or is not valid UTF-8"
        if any(len(part.encode()) > MAX_PART_LENGTH for part in parts):
            return f"has a part of more than {MAX_PART_LENGTH} bytes in its name"
        if any(_RESERVED.fullmatch(part) or part != part.rstrip(" ") for part in parts):
            return "has a name that some systems reserve"
        if any(part.endswith(".") and part != "." for part in parts):
            return "has a name that some systems reserve"
        if parts[-1] in ("", "."):
            return "has no name"
    return None
