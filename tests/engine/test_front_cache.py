"""Decoded kernels on disk, and decoded streams that warps share."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sims.engine.front.decodedcache import DecodedCache
from sims.engine.front.prepared import Prepared, prepare
from sims.engine.front.streams import share_streams
from tests.engine.kernel_texts import EXIT, cta, decode, header
from tests.engine.twins.decoder import described

ADD = "0010 ffffffff 1 R4 IADD3 2 R5 R6 0 0 "
LOAD = "0020 ffffffff 1 R4 LDG.E 1 R2 4 1 {:#x} 4 0 "
TEXT = header(ctas=3, threads=64) + "".join(
    cta([ADD, ADD, ADD, EXIT], [LOAD.format(0x7F4B00000000 + 128 * i), EXIT]) for i in range(3)
)


@pytest.fixture
def kernel_file(tmp_path: Path) -> Path:
    path = tmp_path / "kernel-1.traceg"
    path.write_text(TEXT)
    return path


@pytest.fixture
def cache(tmp_path: Path) -> DecodedCache:
    return DecodedCache(tmp_path / "decoded")


def kept(cache: DecodedCache, file: Path) -> tuple[Path, Prepared]:
    path = cache.path_for(file)
    assert path is not None
    prepared = prepare(file, None, lambda: None)
    cache.store(path, prepared)
    return path, prepared


def test_a_kernel_comes_back_as_it_was_decoded(cache: DecodedCache, kernel_file: Path) -> None:
    path, prepared = kept(cache, kernel_file)
    loaded = cache.load(path)
    assert loaded is not None
    assert (loaded.signature, loaded.shape, loaded.counts.tolist()) == (
        prepared.signature, prepared.shape, prepared.counts.tolist(),
    )  # fmt: skip
    for one, other in zip(loaded.program.kept, prepared.program.kept, strict=True):
        assert all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ("operands", "sector_masks"))


def test_another_content_has_another_place(cache: DecodedCache, kernel_file: Path) -> None:
    before = cache.path_for(kernel_file)
    kernel_file.write_text(TEXT.replace("R5", "R7"))
    assert cache.path_for(kernel_file) != before


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-1], lambda data: b"", lambda data: data[:50] + b"\0" + data[51:]]
)
def test_a_damaged_file_heals_itself(cache: DecodedCache, kernel_file: Path, damage: Callable[[bytes], bytes]) -> None:
    path, _ = kept(cache, kernel_file)
    path.write_bytes(damage(path.read_bytes()))
    assert cache.load(path) is None
    assert not path.exists()


def test_what_was_used_longest_ago_makes_room(tmp_path: Path, kernel_file: Path) -> None:
    size = len(kept(DecodedCache(tmp_path / "measure"), kernel_file)[0].read_bytes())
    cache = DecodedCache(tmp_path / "small", limit_bytes=size * 9 // 2)
    for i in range(6):
        kernel_file.write_text(TEXT.replace("nregs = 16", f"nregs = {20 + i}"))
        kept(cache, kernel_file)
    assert sum(path.stat().st_size for path in cache.folder.iterdir()) <= size * 9 // 2


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path, kernel_file: Path) -> None:
    (tmp_path / "taken").write_text("a file, not a folder")
    path, _ = kept(DecodedCache(tmp_path / "taken"), kernel_file)
    assert DecodedCache(tmp_path / "taken").load(path) is None


def test_equal_warps_share_a_stream_and_mean_the_same() -> None:
    program, chunks = decode(header(ctas=8) + cta([ADD, ADD, EXIT]) * 8)
    shared = share_streams(chunks[0])
    assert len(shared.static_ids) == 3
    assert [list(described(shared, i, 0, 1, program.statics, program.opcodes)) for i in range(8)] == [
        list(described(chunks[0], i, 0, 1, program.statics, program.opcodes)) for i in range(8)
    ]


def test_warps_with_their_own_addresses_share_nothing() -> None:
    _, chunks = decode(header(ctas=4) + "".join(cta([LOAD.format(4096 * i), EXIT]) for i in range(4)))
    assert share_streams(chunks[0]) is chunks[0]
