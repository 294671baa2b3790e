"""Kernel headers of all tracer versions, and what is no header."""

import io
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traces.accelsim import KernelHeader, TraceError, read_header

V5 = {
    "kernel name": "_Z9vectorAddPKfS0_Pfi",
    "kernel id": "1",
    "grid dim": "(16,1,1)",
    "block dim": "(256,1,1)",
    "shmem": "0",
    "nregs": "12",
    "binary version": "86",
    "cuda stream id": "0",
    "shmem base_addr": "0x00007f4a00000000",
    "local mem base_addr": "0x00007f4a02000000",
    "nvbit version": "1.5.5",
    "accelsim tracer version": "5",
    "enable lineinfo": "0",
}
V1 = {name: V5[name] for name in list(V5)[:8]}
NEEDED = ("kernel name", "grid dim", "block dim", "shmem", "nregs", "binary version")


def header_text(fields: dict[str, str], newline: str = "\n") -> bytes:
    lines = [f"-{name} = {value}" for name, value in fields.items()]
    return newline.join([*lines, "", "#traces format = ...", "", "#BEGIN_TB", ""]).encode()


def read(data: bytes) -> KernelHeader:
    return read_header(io.BytesIO(data), "kernel-1.traceg")


def test_it_reads_every_field_of_a_version_5_header() -> None:
    header = read(header_text(V5))
    assert header.name == "_Z9vectorAddPKfS0_Pfi"
    assert (header.grid, header.block) == ((16, 1, 1), (256, 1, 1))
    assert (header.shared_memory_bytes, header.registers_per_thread, header.binary_version) == (0, 12, 86)
    assert (header.shared_base_address, header.local_base_address) == (0x7F4A00000000, 0x7F4A02000000)
    assert (header.nvbit_version, header.tracer_version, header.has_line_info) == ("1.5.5", 5, False)
    assert header.warnings == ()


def test_a_version_1_header_has_no_versions_and_its_lines_name_their_warp() -> None:
    header = read(header_text(V1))
    assert (header.nvbit_version, header.tracer_version) == (None, None)
    assert header.lines_name_their_warp


def test_it_reads_windows_line_ends() -> None:
    assert read(header_text(V5, newline="\r\n")) == read(header_text(V5))


@pytest.mark.parametrize(
    "name", ["_Z" + "x" * 2000, "void f<int, (char)2>(T1 *, T1, float) [clone]", "{lambda()#1}", "= =", "a,b;c"]
)
def test_it_takes_a_name_as_it_is(name: str) -> None:
    assert read(header_text(V5 | {"kernel name": name})).name == name


def test_it_shows_bytes_that_are_not_utf8_and_warns() -> None:
    data = header_text(V5 | {"kernel name": "name"}).replace(b"name\n", b"n\xff\xfeme\n", 1)
    header = read(data)
    assert header.name == "n\ufffd\ufffdme"
    assert "line 1 is not valid UTF-8" in header.warnings[0]


def test_it_reads_stream_ids_that_are_64_bit_pointers() -> None:
    assert read(header_text(V5 | {"cuda stream id": "93864869445264"})).stream == 93864869445264
    assert read(header_text(V5 | {"cuda stream id": str(2**64 - 1)})).stream == 2**64 - 1


@pytest.mark.parametrize(
    ("text", "value"), [("0xffffffff", 0xFFFFFFFF), ("0x0", 0), ("0x00007f05b0000000", 0x7F05B0000000)]
)
def test_it_reads_base_addresses_of_any_width(text: str, value: int) -> None:
    assert read(header_text(V5 | {"shmem base_addr": text})).shared_base_address == value


@pytest.mark.parametrize("version", ["35", "60", "70", "75", "80", "86", "87", "89", "90", "100", "120"])
def test_it_reads_every_sass_version(version: str) -> None:
    assert read(header_text(V5 | {"binary version": version})).binary_version == int(version)


def test_versions_are_text_and_not_fractions() -> None:
    assert read(header_text(V5 | {"nvbit version": "1.7.7.1"})).nvbit_version == "1.7.7.1"


def test_the_header_of_a_binary_trace_ends_at_its_nul() -> None:
    fields = header_text(V5).split(b"\n#traces")[0]
    assert read(fields + b"\0\x01\x02\x03").name == V5["kernel name"]


def test_an_unknown_line_is_ignored_with_a_warning() -> None:
    header = read(header_text(V5).replace(b"-nregs", b"some words\n-nregs"))
    assert header.warnings == ("line 6 of the header is not understood and was ignored",)


def test_a_repeated_line_counts_with_its_last_value_and_warns() -> None:
    header = read(b"-nregs = 99\n" + header_text(V5))
    assert header.registers_per_thread == 12
    assert "gives 'nregs' again" in header.warnings[0]


def test_shape_follows_from_the_fields() -> None:
    header = read(header_text(V5 | {"grid dim": "(3,4,5)", "block dim": "(33,2,1)"}))
    assert (header.ctas, header.threads_per_cta, header.warps_per_cta) == (60, 66, 3)


@pytest.mark.parametrize("missing", NEEDED)
def test_it_refuses_a_header_without_what_a_simulation_needs(missing: str) -> None:
    fields = {name: value for name, value in V5.items() if name != missing}
    with pytest.raises(TraceError, match=f"no '-{missing} = ...' line"):
        read(header_text(fields))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("grid dim", "(16,1)"),
        ("grid dim", "(0,1,1)"),
        ("grid dim", "(-1,1,1)"),
        ("grid dim", "(99999999999,1,1)"),
        ("grid dim", "(4294967295,1,1)"),
        ("block dim", "(2048,1,1)"),
        ("block dim", "(32,32,2)"),
        ("shmem", "many"),
        ("shmem", "-1"),
        ("shmem", "9" * 5000),
        ("nregs", "1.5"),
        ("binary version", "sm_86"),
        ("cuda stream id", str(2**64)),
        ("shmem base_addr", "7f4a"),
        ("enable lineinfo", "2"),
        ("accelsim tracer version", "five"),
    ],
)
def test_it_refuses_values_out_of_range_and_names_the_line(field: str, value: str) -> None:
    with pytest.raises(TraceError) as caught:
        read(header_text(V5 | {field: value}))
    assert caught.value.line == list(V5).index(field) + 1


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (b"-kernel name = x\n-grid dim = (1,", "ends inside its header"),
        (b'{"name":"vecAdd(double*)","kernel_id":1}', "is JSON, not an Accel-Sim kernel trace"),
        (b"PK\x03\x04 something", "is something else"),
        (b"-kernel name = " + b"x" * (2 << 20), "no end of its header"),
        (b"-a = b\n" * (1 << 18), "no end of its header"),
    ],
)
def test_it_refuses_what_is_not_a_header(data: bytes, message: str) -> None:
    with pytest.raises(TraceError, match=message):
        read(data)


def test_every_cut_of_a_header_is_an_error() -> None:
    whole = header_text(V5).split(b"#traces")[0]
    for length in range(len(whole)):
        with pytest.raises(TraceError):
            read(whole[:length])


def test_the_identity_of_a_kernel_leaves_out_its_id() -> None:
    first, second = (read(header_text(V5 | {"kernel id": number})) for number in ("1", "2"))
    other = read(header_text(V5 | {"nregs": "13"}))
    assert first.identity == second.identity != other.identity


@given(st.binary(max_size=400))
def test_any_bytes_are_a_header_or_a_clear_error(data: bytes) -> None:
    with suppress(TraceError):
        read(b"-kernel name = " + data)


ANY_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0#"), max_size=30)


@given(st.fixed_dictionaries({name: st.just(value) | ANY_TEXT for name, value in V5.items()}))
def test_any_values_are_a_header_or_a_clear_error(fields: dict[str, str]) -> None:
    try:
        header = read(header_text(fields))
    except TraceError:
        return
    assert 1 <= header.threads_per_cta <= 1024
