"""A run directory (what the profiler uploads) or a bare Accel-Sim trace, understood from its list and headers.

No kernel's body is read here, so a trace of 100 GB takes as long as its list.
"""

import json
import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cascade_site.jsonvalues import problem_of
from traces.accelsim import (
    KernelCommand,
    KernelHeader,
    KernelsList,
    MemcpyCommand,
    TraceError,
    parse_kernel_file_name,
    parse_kernelslist,
)
from traces.accelsim.files import split_compression
from traces.accelsim.header import Dim3
from traces.accelsim.kernelslist import MAX_LIST_BYTES, stored_names
from traces.sources import HeaderOrError, Source

METADATA_FILE = "run.json"
TIMELINE_FILE = "corrected_timeline.json"
ALIGNMENT_FILE = "trace_alignment.json"
TRACE_FOLDER = "traced/traces"
MAX_METADATA_BYTES = 1024 * 1024
MAX_WARNINGS = 30

_LIST_NAME = re.compile(r"kernelslist(_ctx_0x[0-9a-fA-F]+)?(\.g)?")


@dataclass(frozen=True, slots=True)
class KernelEntry:
    """One launch."""

    index: int
    """From 1, in launch order."""
    name: str
    trace_file: str
    """Name of the kernel's file in ``RunDirectory.trace_folder``; several launches may share one."""
    kernel_id: int | None
    grid: Dim3
    block: Dim3
    shared_memory_bytes: int
    registers_per_thread: int
    stream: int
    binary_version: int
    tracer_version: int | None
    nvbit_version: str | None
    file_bytes: int


@dataclass(frozen=True, slots=True)
class RunDirectory:
    metadata: dict[str, Any]
    """``run.json`` as it is; empty without one."""
    kernels: tuple[KernelEntry, ...]
    memcpys: tuple[MemcpyCommand, ...]
    warnings: tuple[str, ...]
    root: str
    """Where the run directory starts in its source ("" or a folder)."""
    trace_folder: str
    """Where the list and the kernel files lie, relative to the source."""
    list_file: str
    """Name of the list in ``trace_folder``."""
    timeline_file: str | None
    alignment_file: str | None
    """Relative to the source."""
    files: Mapping[str, int]
    """Names under ``root``, relative to it, and their sizes in bytes."""

    @property
    def size_bytes(self) -> int:
        return sum(self.files.values())

    @property
    def binary_version(self) -> int:
        """The newest SASS version among the kernels (a library may bring kernels for an older one)."""
        return max(kernel.binary_version for kernel in self.kernels)

    @property
    def tracer_version(self) -> int | None:
        return self.kernels[0].tracer_version

    @property
    def nvbit_version(self) -> str | None:
        return self.kernels[0].nvbit_version


def is_list_name(name: str) -> bool:
    """Whether a file of this name (no folder) is a list: ``kernelslist.g``, ``kernelslist_ctx_0x...``, ``.xz`` ..."""
    return bool(_LIST_NAME.fullmatch(split_compression(name)[0]))


def read_run_directory(source: Source) -> RunDirectory:
    """Finds the run directory or bare trace in a source (it may lie in a folder of its own) and understands it.

    Raises ``TraceError`` with what is wrong and where: no list or several, an empty one, missing, empty or cut kernels.
    """
    files = source.files()
    trace_folder = _find_trace_folder(files)
    root = _find_root(trace_folder, files)
    warnings: list[str] = []
    list_file = _choose_list(trace_folder, files, warnings)
    listed = parse_kernelslist(source.read(list_file, MAX_LIST_BYTES), list_file)
    warnings += listed.warnings
    if not listed.kernels:
        raise TraceError("names no kernel: there is nothing to simulate in this trace.", list_file)
    kernels = _read_kernels(source, listed, list_file, files, warnings)
    return RunDirectory(
        metadata=_read_metadata(source, posixpath.join(root, METADATA_FILE), files),
        kernels=tuple(kernels),
        memcpys=tuple(command for command in listed.commands if isinstance(command, MemcpyCommand)),
        warnings=_shortened(warnings),
        root=root,
        trace_folder=trace_folder,
        list_file=posixpath.basename(list_file),
        timeline_file=_present(posixpath.join(root, TIMELINE_FILE), files),
        alignment_file=_present(posixpath.join(root, ALIGNMENT_FILE), files),
        files={name[len(root) :].lstrip("/"): size for name, size in files.items() if _is_under(name, root)},
    )


def _is_under(name: str, folder: str) -> bool:
    return not folder or name.startswith(folder + "/")


def _present(name: str, files: Mapping[str, int]) -> str | None:
    return name if name in files else None


def _find_trace_folder(files: Mapping[str, int]) -> str:
    folders = sorted({posixpath.dirname(name) for name in files if is_list_name(posixpath.basename(name))})
    if not folders:
        kernels = [name for name in files if parse_kernel_file_name(posixpath.basename(name))]
        have = f"There are kernel files such as {kernels[0]} but no list" if kernels else "There is no list"
        wanted = f"a run directory with {TRACE_FOLDER}/kernelslist.g or the folder of an Accel-Sim trace"
        raise TraceError(f"{have} of kernels: give {wanted}.")
    # A run directory may keep the raw trace beside the post-processed one: its agreed place wins.
    preferred = [folder for folder in folders if f"/{folder}".endswith(f"/{TRACE_FOLDER}")] or folders
    if len(preferred) > 1:
        some = ", ".join(preferred[:3]) + (", …" if len(preferred) > 3 else "")
        raise TraceError(f"There are {len(preferred)} traces ({some}): give one of them at a time.")
    return preferred[0]


def _find_root(trace_folder: str, files: Mapping[str, int]) -> str:
    if f"/{trace_folder}".endswith(f"/{TRACE_FOLDER}"):
        return trace_folder[: -len(TRACE_FOLDER)].rstrip("/")
    folder = trace_folder
    while folder:
        if posixpath.join(folder, METADATA_FILE) in files:
            return folder
        folder = posixpath.dirname(folder)
    return "" if METADATA_FILE in files else trace_folder


def _choose_list(trace_folder: str, files: Mapping[str, int], warnings: list[str]) -> str:
    """Post-processed lists (``.g``) come before raw ones, the first context's before the others'."""
    names = [posixpath.basename(name) for name in files if posixpath.dirname(name) == trace_folder]
    lists = sorted(filter(is_list_name, names), key=_list_order)
    others = [name for name in lists[1:] if split_compression(name)[0] != split_compression(lists[0])[0]]
    contexts = [name for name in others if split_compression(name)[0].endswith(".g")]
    if contexts:
        warnings.append(
            f"only {lists[0]} is used; {', '.join(contexts[:5])} of other contexts can be given on their own"
        )
    return posixpath.join(trace_folder, lists[0])


def _list_order(name: str) -> tuple[bool, bool, str]:
    stem, compression = split_compression(name)
    return not stem.endswith(".g"), "_ctx_" in stem, f"{stem} {compression}"


def _read_metadata(source: Source, name: str, files: Mapping[str, int]) -> dict[str, Any]:
    if name not in files:
        return {}
    data = source.read(name, MAX_METADATA_BYTES)
    try:
        metadata = json.loads(data.decode("utf-8-sig"), parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise TraceError(f"is not JSON ({error.msg}): write it again or leave it out.", name, error.lineno) from error
    except (ValueError, RecursionError) as error:  # bad UTF-8, a number of thousands of digits, thousands of levels
        raise TraceError("is not JSON that can be kept: write it again or leave it out.", name) from error
    if not isinstance(metadata, dict):
        raise TraceError('is not a JSON object such as {"workload": "..."}.', name)
    if problem := problem_of(metadata):
        raise TraceError(f"{problem}: write it again or leave it out.", name)
    if "\\u0000" in json.dumps(metadata):
        raise TraceError("has a NUL character in a text, which a database cannot keep.", name)
    return metadata


def _refuse_constant(text: str) -> None:
    raise ValueError(f"{text} is not JSON")


def _read_kernels(
    source: Source, listed: KernelsList, list_file: str, files: Mapping[str, int], warnings: list[str]
) -> list[KernelEntry]:
    folder = posixpath.dirname(list_file)
    names = _resolve_files(listed.kernels, list_file, files, warnings)
    headers = source.headers(dict.fromkeys(posixpath.join(folder, name) for name in names.values()))
    _raise_first_error(headers, warnings)
    entries = []
    for index, command in enumerate(listed.kernels, start=1):
        trace_file = names[command.file.name]
        path = posixpath.join(folder, trace_file)
        header = headers[path]
        if isinstance(header, KernelHeader):
            entries.append(_entry(index, trace_file, header, command, files[path]))
    versions = sorted({entry.binary_version for entry in entries})
    if len(versions) > 1:
        warnings.append(f"its kernels are of several SASS versions: {', '.join(map(str, versions))}")
    return entries


def _entry(index: int, trace_file: str, header: KernelHeader, command: KernelCommand, file_bytes: int) -> KernelEntry:
    return KernelEntry(
        index=index,
        name=header.name,
        trace_file=trace_file,
        kernel_id=command.file.kernel_id if header.kernel_id is None else header.kernel_id,
        grid=header.grid,
        block=header.block,
        shared_memory_bytes=header.shared_memory_bytes,
        registers_per_thread=header.registers_per_thread,
        stream=header.stream,
        binary_version=header.binary_version,
        tracer_version=header.tracer_version,
        nvbit_version=header.nvbit_version,
        file_bytes=file_bytes,
    )


def _resolve_files(
    commands: list[KernelCommand], list_file: str, files: Mapping[str, int], warnings: list[str]
) -> dict[str, str]:
    """The file that stands for each listed name: itself, or its compressed (or plain) twin, as ``xz *`` leaves it."""
    folder = posixpath.dirname(list_file)
    found: dict[str, str] = {}
    missing: dict[str, int] = {}
    for command in commands:
        listed = command.file.name
        present = [name for name in stored_names(listed) if posixpath.join(folder, name) in files]
        if present:
            found[listed] = present[0]
        else:
            missing.setdefault(listed, command.line)
    if missing:
        first, line = next(iter(missing.items()))
        more = f" ({len(missing)} kernel files are missing)" if len(missing) > 1 else ""
        raise TraceError(f"names {first}, which is not beside it{more}: copy the whole trace.", list_file, line)
    replaced = [listed for listed, name in found.items() if listed != name]
    if replaced:
        count = f" ({len(replaced)} such kernel files)" if len(replaced) > 1 else ""
        warnings.append(f"{replaced[0]} is listed, {found[replaced[0]]} is there and is used instead{count}")
    return found


def _raise_first_error(headers: Mapping[str, HeaderOrError], warnings: list[str]) -> None:
    errors = [header for header in headers.values() if isinstance(header, TraceError)]
    if errors:
        raise errors[0] if len(errors) == 1 else _first_of_several(errors)
    for path, header in headers.items():
        if isinstance(header, KernelHeader):
            warnings += [f"{posixpath.basename(path)}: {warning}" for warning in header.warnings]


def _first_of_several(errors: list[TraceError]) -> TraceError:
    first = errors[0]
    return TraceError(f"{first.message} {len(errors)} kernel files have errors.", first.file, first.line)


def _shortened(warnings: list[str]) -> tuple[str, ...]:
    more = len(warnings) - MAX_WARNINGS
    return tuple(warnings[:MAX_WARNINGS]) + ((f"and {more} more warnings",) if more > 0 else ())
