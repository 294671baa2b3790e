"""The log on its way from the pipe to the app: valid UTF-8, whole characters, nothing twice."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sims.runner.spool import ErrorSpool, LogSpool, whole_characters


def spooled(pieces: list[bytes], max_bytes: int = 10**6) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        spool = LogSpool(Path(folder) / "log", max_bytes)
        for piece in pieces:
            spool.write(piece)
        spool.close()
        return spool.read(0, 10**7)


@given(st.lists(st.binary(max_size=40), max_size=20))
def test_what_is_kept_is_the_output_as_valid_utf8_however_it_arrives(pieces: list[bytes]) -> None:
    kept = spooled(pieces)
    assert kept == b"".join(pieces).decode("utf-8", "replace").encode()


@given(st.text(max_size=60), st.integers(4, 20))
def test_pieces_of_whole_characters_add_up_to_the_log(text: str, limit_bytes: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        spool = LogSpool(Path(folder) / "log", 10**6)
        spool.write(text.encode())
        pieces, offset = [], 0
        while piece := spool.read(offset, limit_bytes):
            pieces.append(piece.decode())
            offset += len(piece)
        assert "".join(pieces) == text


@given(st.text(max_size=20), st.integers(0, 80))
def test_a_cut_is_put_back_to_the_last_whole_character(text: str, at: int) -> None:
    data = text.encode()[:at]
    assert whole_characters(data) == data.decode("utf-8", "ignore").encode()


@given(st.lists(st.text(max_size=30), max_size=8), st.integers(0, 60))
def test_a_log_over_its_limit_is_a_prefix_and_a_mark(pieces: list[str], max_bytes: int) -> None:
    whole = "".join(pieces).encode()
    kept = spooled([piece.encode() for piece in pieces], max_bytes)
    if len(whole) <= max_bytes:
        assert kept == whole
    else:
        prefix, _, mark = kept.rpartition(b"\n[Cascade: ")
        assert whole.startswith(prefix)
        assert f"{len(prefix)} of {len(whole)} bytes" in mark.decode()


def test_a_write_that_the_disk_refuses_is_raised(tmp_path: Path) -> None:
    (tmp_path / "log").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left"):
        LogSpool(tmp_path / "log", 100).write(b"hello")


def test_the_last_words_on_stderr_are_at_hand_and_in_the_file(tmp_path: Path) -> None:
    spool = ErrorSpool(tmp_path / "stderr.txt", 100)
    spool.write(b"x" * 1000 + b"what went wrong\n")
    spool.close()
    assert spool.tail.endswith("what went wrong\n")
    assert b"cut here, 100 of 1016 bytes" in (tmp_path / "stderr.txt").read_bytes()
