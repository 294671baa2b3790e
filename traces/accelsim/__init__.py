"""Reads Accel-Sim traces: the list of commands, the kernels' headers, and their instructions as a stream of text.

``content``, which needs NumPy, is not imported here: a runner starts faster without it.
"""

from traces.accelsim.body import BodyReader, open_body
from traces.accelsim.errors import TraceError
from traces.accelsim.files import open_file, open_stream
from traces.accelsim.header import KernelHeader, read_header
from traces.accelsim.kernelslist import (
    KernelCommand,
    KernelFileName,
    KernelsList,
    MemcpyCommand,
    kernel_path,
    parse_kernel_file_name,
    parse_kernelslist,
    stored_names,
)

__all__ = [
    "BodyReader",
    "KernelCommand",
    "KernelFileName",
    "KernelHeader",
    "KernelsList",
    "MemcpyCommand",
    "TraceError",
    "kernel_path",
    "open_body",
    "open_file",
    "open_stream",
    "parse_kernel_file_name",
    "parse_kernelslist",
    "read_header",
    "stored_names",
]
