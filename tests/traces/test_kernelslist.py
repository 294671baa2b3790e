"""The list of commands, as tracers, post-processors and people write it."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traces.accelsim import KernelsList, TraceError, kernel_path, parse_kernel_file_name, parse_kernelslist


def parse(text: str | bytes) -> KernelsList:
    return parse_kernelslist(text if isinstance(text, bytes) else text.encode(), "kernelslist.g")


def names(text: str | bytes) -> list[str]:
    return [command.file.name for command in parse(text).kernels]


def test_it_reads_kernels_and_copies_in_order() -> None:
    listed = parse("MemcpyHtoD,0x00007f4b00000000,16000\nkernel-1.traceg\nkernel-2.traceg.xz\n")
    assert [type(command).__name__ for command in listed.commands] == [
        "MemcpyCommand",
        "KernelCommand",
        "KernelCommand",
    ]
    assert listed.warnings == ()


def test_it_reads_address_and_size_of_a_copy() -> None:
    copy = parse("MemcpyHtoD,0x00007f4b00000000,16000\n").commands[0]
    assert (copy.kind, copy.address, copy.size_bytes, copy.line) == ("HtoD", 0x7F4B00000000, 16000, 1)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("name", "kernel_id", "context"),
    [
        ("kernel-1.traceg", 1, None),
        ("kernel-1.traceg.xz", 1, None),
        ("kernel-0.traceg.gz", 0, None),
        ("kernel-12.traceg.zst", 12, None),
        ("kernel-2254-ctx_0x35fc7de0.tracez", 2254, "0x35fc7de0"),
        ("kernel-34-ctx_0x5dd0a1addd30.traceg.xz", 34, "0x5dd0a1addd30"),
        ("kernel-MESA_SHADER_VERTEX_func0_main_0.traceg", 0, None),
        ("kernel-MESA_SHADER_FRAGMENT_func1_main_3.traceg", 3, None),
        ("kernel_without_a_number.traceg", None, None),
    ],
)
def test_it_takes_ids_and_contexts_from_file_names(name: str, kernel_id: int | None, context: str | None) -> None:
    parsed = parse_kernel_file_name(name)
    assert parsed is not None
    assert (parsed.kernel_id, parsed.context) == (kernel_id, context)


def test_it_keeps_gaps_in_ids_and_repeated_files() -> None:
    text = "kernel-2254.traceg\nkernel-2563.traceg\nkernel-2254.traceg\n"
    assert names(text) == ["kernel-2254.traceg", "kernel-2563.traceg", "kernel-2254.traceg"]


@pytest.mark.parametrize("text", ["kernel-1.traceg\r\nkernel-2.traceg\r\n", "kernel-1.traceg\n\n\nkernel-2.traceg"])
def test_it_accepts_windows_line_ends_blank_lines_and_a_missing_final_newline(text: str) -> None:
    assert names(text) == ["kernel-1.traceg", "kernel-2.traceg"]


def test_it_accepts_a_byte_order_mark() -> None:
    assert names(b"\xef\xbb\xbfkernel-1.traceg\n") == ["kernel-1.traceg"]


def test_it_accepts_a_copy_after_the_last_kernel() -> None:
    assert len(parse("kernel-1.traceg\nMemcpyHtoD,0x10,4").commands) == 2


def test_it_counts_commands_that_cannot_be_simulated() -> None:
    listed = parse(
        "MemcpyVulkan,0x30000000,147480,12\nMemcpyVulkan,0x30061e00,1024,0\ndumpTextures,0x305b1700,458752,0\n"
    )
    assert listed.warnings == (
        "2 MemcpyVulkan commands cannot be simulated and were ignored",
        "1 dumpTextures command cannot be simulated and were ignored",
    )


def test_it_ignores_copies_to_the_host_without_a_warning() -> None:
    assert parse("MemcpyDtoH,0x10,4\nkernel-1.traceg\n").warnings == ()


@pytest.mark.parametrize("line", ["# kernel-9.traceg", " kernel-9.traceg", "Kernel-9.traceg", "launch 9"])
def test_it_warns_of_lines_that_accel_sim_ignores(line: str) -> None:
    listed = parse(f"kernel-1.traceg\n{line}\n")
    assert names(f"kernel-1.traceg\n{line}\n") == ["kernel-1.traceg"]
    assert "line 2 was ignored" in listed.warnings[0]


@pytest.mark.parametrize(
    "line", ["./kernel-1.traceg", "traces/kernel-1.traceg", "/a/b/kernel-1.traceg", "C:\\t\\kernel-1.traceg"]
)
def test_it_uses_the_file_beside_the_list_for_a_path_and_warns(line: str) -> None:
    assert names(line) == ["kernel-1.traceg"]
    assert "has a path" in parse(line).warnings[0]


def test_it_shortens_a_long_list_of_warnings() -> None:
    listed = parse("".join(f"line {n}\n" for n in range(1000)))
    assert len(listed.warnings) == 21
    assert listed.warnings[-1] == "and 980 more lines like these"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'[\n {"cta_id_x": 0}\n]', "is JSON"),
        (b'{"name": 1}', "is JSON"),
        (b"kernel-1.traceg\n\0\0", "is a binary file"),
        (b"\x28\xb5\x2f\xfd\0", "is a binary file"),
        (b"kernel-1.txt\n", "is not the name of a kernel trace"),
        (b"kernel-1.trace.xz\n", "is a raw trace"),
        (b"kernel-1.trace\n", "post-traces-processing"),
        (b"kernel-1\x1b.traceg\n", "is not the name of a kernel trace"),
        (b"MemcpyHtoD,0x10\n", "is not 'MemcpyHtoD,0x<address>,<bytes>'"),
        (b"MemcpyHtoD,0x10,4,4\n", "is not 'MemcpyHtoD,0x<address>,<bytes>'"),
        (b"MemcpyHtoD,zz,4\n", "Accel-Sim stops at such a line"),
    ],
)
def test_it_refuses_what_is_not_a_list(data: bytes, message: str) -> None:
    with pytest.raises(TraceError, match=message.replace("(", "\\(")):
        parse(data)


def test_an_error_names_the_file_and_the_line() -> None:
    with pytest.raises(TraceError) as caught:
        parse("kernel-1.traceg\n\nkernel-2.txt\n")
    assert str(caught.value).startswith("kernelslist.g, line 3: 'kernel-2.txt' is not the name")


@pytest.mark.parametrize(
    "stored", ["kernel-1.traceg", "kernel-1.traceg.xz", "kernel-1.traceg.zst", "kernel-1.traceg.gz"]
)
def test_a_listed_kernel_may_be_stored_compressed_or_plain(stored: str, tmp_path: Path) -> None:
    (tmp_path / stored).touch()
    assert kernel_path(tmp_path, "kernel-1.traceg.xz").name == stored


def test_a_listed_kernel_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"kernel-1\.traceg: is not beside the list"):
        kernel_path(tmp_path, "kernel-1.traceg")


@given(st.binary(max_size=300))
def test_any_bytes_are_a_list_or_a_clear_error(data: bytes) -> None:
    with suppress(TraceError):
        parsed = parse(data)
        assert all("/" not in command.file.name for command in parsed.kernels)


LINES = st.sampled_from(
    [
        "kernel-1.traceg",
        "kernel-2-ctx_0x1.tracez",
        "MemcpyHtoD,0x10,4",
        "MemcpyDtoH,0x10,4",
        "",
        "# note",
        "./kernel-3.traceg",
    ]
)


@given(st.lists(LINES), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_every_kernel_line_becomes_one_launch(lines: list[str], newline: str, final: bool) -> None:
    text = newline.join(lines) + (newline if final else "")
    assert len(parse(text).kernels) == sum("kernel-" in line for line in lines)
