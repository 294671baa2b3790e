"""Which launches are taken for the same work."""

from collections.abc import Callable
from pathlib import Path

import pytest

from sims.engine.decode.statics import TableShelf
from sims.engine.front.prepared import prepare
from tests.engine.kernel_texts import EXIT, cta, header


def text(bases: list[int], *, stride: int = 4, opcode: str = "LDG.E", ctas: int | None = None) -> str:
    """CTAs that each load from their base and store 1 MiB above it."""
    blocks = [
        cta(
            [
                f"0010 ffffffff 1 R4 {opcode} 1 R2 4 1 {base:#x} {stride} 0 ",
                f"0020 ffffffff 0 STG.E 2 R2 R4 4 1 {base + 2**20:#x} 4 0 ",
                EXIT,
            ]
        )
        for base in bases
    ]
    return header(ctas=ctas or len(bases)) + "".join(blocks)


Signature = Callable[..., str]


@pytest.fixture
def signature(tmp_path: Path) -> Signature:
    def of(content: str, shelf: TableShelf | None = None) -> str:
        (tmp_path / "kernel-1.traceg").write_text(content)
        return prepare(tmp_path / "kernel-1.traceg", shelf, lambda: None).signature

    return of


HERE = [0x7F4B00000000, 0x7F4B00000080, 0x7F4B00000100]


def test_another_place_of_the_buffers_is_the_same_work(signature: Signature) -> None:
    assert signature(text(HERE)) == signature(text([base + 0x12345600 for base in HERE]))


def test_another_kernel_id_is_the_same_work(signature: Signature) -> None:
    assert signature(text(HERE)) == signature(text(HERE).replace("kernel id = 1", "kernel id = 7"))


def test_what_was_decoded_before_does_not_matter(signature: Signature) -> None:
    shelf = TableShelf()
    signature(text(HERE, opcode="LDG.E.CONSTANT"), shelf)
    assert signature(text(HERE), shelf) == signature(text(HERE))


@pytest.mark.parametrize(
    "other",
    [
        text(HERE, stride=8),
        text([HERE[0], HERE[2], HERE[1]]),
        text([base + 16 for base in HERE]),
        text(HERE, opcode="LDG.E.64"),
        text(HERE[:2]),
        text(HERE).replace("nregs = 16", "nregs = 32"),
        text(HERE).replace("_Z4testv", "_Z5otherv"),
        text(HERE).replace("0010 ffffffff", "0010 0000ffff", 1),
        # The store now goes where the load came from.
        text(HERE).replace(f"{HERE[0] + 2**20:#x}", f"{HERE[0]:#x}", 1),
    ],
)
def test_other_work_is_told_apart(signature: Signature, other: str) -> None:
    assert signature(text(HERE)) != signature(other)


def test_a_kernel_too_large_to_keep_is_decoded_again(tmp_path: Path) -> None:
    (tmp_path / "kernel-1.traceg").write_text(text(HERE))
    kept = prepare(tmp_path / "kernel-1.traceg", None, lambda: None)
    dropped = prepare(tmp_path / "kernel-1.traceg", None, lambda: None, keep_bytes=0)
    assert (kept.program is None, dropped.program is None) == (False, True)
    assert kept.signature == dropped.signature
