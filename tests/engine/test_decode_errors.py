"""What the decoder refuses, and that it says where and why."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.kernel_texts import EXIT, cta, decode, header, kernel
from traces.accelsim import TraceError

ADD = "0010 ffffffff 1 R4 IADD3 2 R5 R6 0 0 "
LOAD = "0020 ffffffff 1 R4 LDG.E 1 R2 4 1 0x7f4b00000000 4 0 "


def refusal(text: str) -> TraceError:
    with pytest.raises(TraceError) as caught:
        decode(text)
    return caught.value


def test_it_refuses_a_file_cut_inside_a_line() -> None:
    text = kernel(ADD, LOAD)
    assert "cut" in refusal(text[: text.index("0x7f4b")]).message


def test_it_refuses_a_file_cut_between_lines_of_a_warp() -> None:
    text = kernel(ADD, LOAD)
    assert "ends inside warp 0" in refusal(text[: text.index("0020 ffff")]).message


def test_it_refuses_a_file_cut_between_thread_blocks() -> None:
    error = refusal(header(ctas=3) + cta([EXIT]) * 2)
    assert "2 of the grid's 3 thread blocks" in error.message


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 400))
def test_it_refuses_every_cut_before_the_last_end_of_a_block(missing: int) -> None:
    body = cta([ADD, LOAD, EXIT], [ADD, EXIT]) * 2
    end = body.rindex("\n#END_TB")
    text = header(ctas=2, threads=64) + body[: max(0, end - missing)]
    with pytest.raises(TraceError):
        decode(text)


def test_a_missing_last_newline_is_no_damage() -> None:
    _, chunks = decode(kernel(ADD).rstrip("\n"))
    assert chunks[0].ctas == 1


def test_it_names_file_and_line() -> None:
    text = kernel(ADD, LOAD.replace("ffffffff", "fffffffff"))
    error = refusal(text)
    assert error.file == "kernel-1.traceg"
    assert text.splitlines()[error.line - 1].startswith("0020 fffffffff")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (ADD.replace("ffffffff", "xyz"), "lane mask"),
        (ADD.replace("0010", "pc"), "PC"),
        (ADD.replace("R5", "Q5"), "'Q5' is not a register"),
        (ADD.replace("R5", "R256"), "'R256' is not a register"),
        (ADD.replace("1 R4", "2 R4 R5"), "2 destination registers"),
        (ADD.replace("2 R5 R6", "9 R5 R6"), "9 source registers"),
        (ADD.replace("2 R5 R6", "-1"), "-1 source registers"),
        ("0010 ffffffff 1 R4", "ends before the opcode"),
        ("0010 ffffffff 0 NOP 0", "ends before the memory width"),
        (LOAD.replace("4 1 0x", "4 7 0x"), "address format"),
        (LOAD.replace("0x7f4b00000000", "zero"), "address part"),
        (LOAD.replace("4 1 0x7f4b00000000 4 0", "4 2 0x7f4b00000000 4 4 0"), "fewer addresses than active lanes"),
    ],
)
def test_it_refuses_a_damaged_line(line: str, says: str) -> None:
    assert says in refusal(kernel(line)).message


def test_it_refuses_a_warp_that_the_block_does_not_have() -> None:
    assert "warp 1 in a thread block of 1 warps" in refusal(header() + cta([EXIT], [EXIT])).message


def test_it_refuses_a_block_with_a_warp_missing() -> None:
    assert "without any line of warp 1" in refusal(header(threads=64) + cta([EXIT])).message


def test_it_refuses_a_warp_that_stands_twice() -> None:
    text = (header(threads=64) + cta([EXIT], [EXIT])).replace("warp = 1", "warp = 0")
    assert "stands twice" in refusal(text).message


def test_it_refuses_fewer_lines_than_announced() -> None:
    assert "1 instruction lines fewer" in refusal(kernel(ADD).replace("insts = 2", "insts = 3")).message


def test_it_refuses_more_lines_than_announced() -> None:
    # The announced end is reached before the EXIT.
    assert "ends without EXIT" in refusal(kernel(ADD).replace("insts = 2", "insts = 1")).message


def test_it_refuses_a_warp_without_exit() -> None:
    assert "without EXIT for lanes ffff0000" in refusal(kernel(exit_line=EXIT.replace("ffffffff", "0000ffff"))).message


def test_lanes_may_exit_one_after_another() -> None:
    _, chunks = decode(kernel(EXIT.replace("ffffffff", "0000ffff"), ADD.replace("ffffffff", "ffff0000")))
    assert chunks[0].warp_length.tolist() == [3]


def test_the_last_warp_needs_exit_only_for_the_threads_there_are() -> None:
    _, chunks = decode(header(threads=40) + cta([EXIT], [EXIT.replace("ffffffff", "000000ff")]))
    assert chunks[0].warp_length.tolist() == [1, 1]


def test_it_refuses_a_count_that_is_no_number() -> None:
    assert "insts" in refusal(kernel(ADD).replace("insts = 2", "insts = two")).message


def test_it_refuses_a_block_inside_a_block() -> None:
    assert "#BEGIN_TB inside" in refusal(kernel(ADD).replace("warp = 0", "#BEGIN_TB")).message


def test_what_a_file_holds_beyond_its_grid_is_not_read() -> None:
    _, chunks = decode(header(ctas=1) + cta([EXIT]) + "\n#BEGIN_TB\ngarbage\n")
    assert sum(chunk.ctas for chunk in chunks) == 1


def test_it_refuses_a_line_without_end() -> None:
    text = kernel(ADD)[: -len("#END_TB\n")] + "0" * (5 << 20)
    assert "longer than" in refusal(text).message


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_damage_never_ends_in_anything_but_a_trace_error(data: st.DataObject) -> None:
    text = bytearray((header(threads=64) + cta([ADD, LOAD, EXIT], [LOAD, ADD, EXIT])).encode())
    start = text.index(b"#BEGIN_TB")
    for _ in range(data.draw(st.integers(1, 4))):
        text[data.draw(st.integers(start, len(text) - 1))] = data.draw(st.integers(0, 255))
    try:
        decode(bytes(text))
    except TraceError as error:
        assert error.message  # noqa: PT017
