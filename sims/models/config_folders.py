"""The user's folders of Accel-Sim configs, read again where their files have changed."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sims.gpus import ConfigReport, read_accelsim_config

CONFIG_FILE = "gpgpusim.config"
Stamp = tuple[tuple[str, int, int], ...]


@dataclass(frozen=True, slots=True)
class Found:
    """A folder as it was read: its config, or in one sentence why it is none."""

    stamp: Stamp
    report: ConfigReport | None
    problem: str


class ConfigFolders:
    """What this process has read of one root. Folders with unchanged files are not read a second time."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._found: dict[str, Found] = {}

    def changed(self) -> Iterator[ConfigReport]:
        """The configs that are new or have changed since they were last asked for."""
        for folder in self._folders():
            stamp = _stamp(folder)
            known = self._found.get(folder.name)
            if known is not None and known.stamp == stamp:
                continue
            found = self._found[folder.name] = _read(folder, stamp)
            if found.report is not None:
                yield found.report

    def problems(self) -> dict[str, str]:
        """The folders that hold no config that can be used, each with the reason."""
        if not self.root.is_dir():
            return {self.root.name: f"{self.root} is no folder."}
        here = {folder.name for folder in self._folders()}
        return {name: found.problem for name, found in self._found.items() if found.problem and name in here}

    def _folders(self) -> list[Path]:
        if not self.root.is_dir():
            return []
        return sorted(path for path in self.root.iterdir() if path.is_dir() and not path.name.startswith("."))


def _stamp(folder: Path) -> Stamp:
    """What changes when one of the folder's files does."""
    about = [(file.name, file.stat()) for file in sorted(folder.glob("*.config"))]
    return tuple((name, stat.st_mtime_ns, stat.st_size) for name, stat in about)


def _read(folder: Path, stamp: Stamp) -> Found:
    if not (folder / CONFIG_FILE).exists():
        return Found(stamp, None, f"The folder has no {CONFIG_FILE}.")
    try:
        return Found(stamp, read_accelsim_config(folder), "")
    except (OSError, ValueError) as error:
        return Found(stamp, None, str(error))
