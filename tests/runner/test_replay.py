"""The replay simulator: any compression, at once or paced."""

import gzip
import lzma
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from sims.gpus import load_shipped
from sims.simulators.base import Job, Places
from sims.simulators.replay.simulator import Replay

LOG = b"".join(b"line %d\n" % number for number in range(2000))
SPEC = load_shipped()["SM86_RTX3070"]


def play(log: Path, seconds: object = 0) -> bytes:
    job = Job("sim-0", SPEC, log.parent, "kernelslist.g", (), log.parent, {"replay_seconds": seconds})
    return subprocess.run(Replay(Places(replay_log=str(log))).prepare(job).argv, check=True, capture_output=True).stdout


@pytest.mark.parametrize(
    ("suffix", "compress"),
    [("", bytes), (".xz", lzma.compress), (".gz", gzip.compress), (".zst", zstandard.compress)],
)
def test_it_plays_a_log_of_any_compression(tmp_path: Path, suffix: str, compress: Callable[[bytes], bytes]) -> None:
    log = tmp_path / f"recorded.log{suffix}"
    log.write_bytes(compress(LOG))
    assert play(log) == LOG


def test_a_paced_log_takes_its_time_and_is_whole(tmp_path: Path) -> None:
    log = tmp_path / "recorded.log"
    log.write_bytes(LOG)
    started = time.monotonic()
    assert play(log, seconds=1.5) == LOG
    assert time.monotonic() - started >= 1.5


def test_a_damaged_log_is_one_line_on_stderr(tmp_path: Path) -> None:
    log = tmp_path / "recorded.log.xz"
    log.write_bytes(lzma.compress(LOG)[:-10])
    argv = [sys.executable, "-m", "sims.simulators.replay", str(log), "0"]
    done = subprocess.run(argv, check=False, capture_output=True, text=True)
    assert done.returncode == 1
    assert "recorded.log.xz" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("seconds", [-1, "soon", 1e9])
def test_it_refuses_a_pace_that_is_none(tmp_path: Path, seconds: object) -> None:
    log = tmp_path / "recorded.log"
    log.write_bytes(LOG)
    with pytest.raises(ValueError, match="replay_seconds"):
        play(log, seconds)


def test_it_says_where_it_looked_for_a_log() -> None:
    assert "/no/such.log" in (Replay(Places(replay_log="/no/such.log")).why_not(SPEC) or "")
    assert "CASCADE_REPLAY_LOG" in (Replay(Places()).why_not(SPEC) or "")
