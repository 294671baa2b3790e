"""Which unit an opcode runs on, per architecture, and what becomes of one that nobody knows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sims.engine import program as p
from sims.engine.isa import architecture_of, classify


@pytest.mark.parametrize(
    ("opcode", "unit"),
    [
        ("IADD3.X", p.UNIT_INT), ("LDC.64", p.UNIT_INT), ("SHFL.BFLY", p.UNIT_INT), ("I2F.RP", p.UNIT_INT),
        ("NOP", p.UNIT_INT),
        ("FFMA.FTZ", p.UNIT_SP), ("HMUL2", p.UNIT_SP), ("HFMA2.MMA", p.UNIT_SP), ("DFMA", p.UNIT_DP),
        ("MUFU.RCP", p.UNIT_SFU),
        ("BSSY", p.UNIT_BRANCH), ("TEX.SCR.LL", p.UNIT_TEXTURE), ("HMMA.16816.F32", p.UNIT_TENSOR),
        ("ULDC.64", p.UNIT_UNIFORM),
        ("R2UR", p.UNIT_UNIFORM), ("LDG.E", p.UNIT_MEM), ("MEMBAR.SC.GPU", p.UNIT_MEM), ("BAR.SYNC", p.UNIT_INT),
    ],
)  # fmt: skip
def test_an_opcode_runs_on_its_unit(opcode: str, unit: int) -> None:
    assert classify(opcode, 86).unit == unit


def test_volta_runs_integer_mma_on_the_integer_pipe() -> None:
    assert (classify("IMMA.8816.S8.S8", 70).unit, classify("IMMA.8816.S8.S8", 75).unit) == (p.UNIT_INT, p.UNIT_TENSOR)


@pytest.mark.parametrize(
    ("opcode", "half"), [("HADD2.F32", True), ("HFMA2.MMA", True), ("HMUL2", False), ("FADD", False)]
)
def test_packed_half_runs_at_half_the_interval(opcode: str, half: bool) -> None:
    assert classify(opcode, 86).half_rate is half


@pytest.mark.parametrize(
    ("opcode", "kind", "space"),
    [
        ("LD.E.64", p.KIND_LOAD, p.SPACE_GENERIC), ("LDG.E", p.KIND_LOAD, p.SPACE_GLOBAL),
        ("LDL", p.KIND_LOAD, p.SPACE_LOCAL),
        ("LDSM.16.M88.4", p.KIND_LOAD, p.SPACE_SHARED), ("STS.128", p.KIND_STORE, p.SPACE_SHARED),
        ("LDGSTS.E.BYPASS.128", p.KIND_LDGSTS, p.SPACE_GLOBAL), ("RED.E.ADD.STRONG.GPU", p.KIND_ATOMIC, p.SPACE_GLOBAL),
        ("ATOMS.ADD", p.KIND_ATOMIC, p.SPACE_SHARED), ("EXIT", p.KIND_EXIT, p.SPACE_NONE),
        ("LDGDEPBAR", p.KIND_LDGDEPBAR, p.SPACE_NONE), ("DEPBAR.LE", p.KIND_DEPBAR, p.SPACE_NONE),
        ("BAR.ARV", p.KIND_BARRIER_ARRIVE, p.SPACE_NONE), ("REPLAY_START", p.KIND_REPLAY_START, p.SPACE_NONE),
    ],
)  # fmt: skip
def test_an_opcode_does_its_thing_in_its_space(opcode: str, kind: int, space: int) -> None:
    info = classify(opcode, 86)
    assert (info.kind, info.space) == (kind, space)


@pytest.mark.parametrize(
    ("opcode", "width"), [("LDG.E", 4), ("LDG.E.128", 16), ("LDG.E.U16", 2), ("LDSM.16.M88.4", 2), ("LDG.E.S8", 4)]
)
def test_the_width_is_read_from_the_opcode(opcode: str, width: int) -> None:
    assert classify(opcode, 86).width_bytes == width


def test_a_width_that_no_gpu_has_is_capped() -> None:
    assert classify("LDG.E." + "9" * 5000, 86).width_bytes == 64


@pytest.mark.parametrize(
    ("opcode", "binary", "bypasses"),
    [
        ("LDG.E.STRONG.GPU", 86, True), ("LDG.E.STRONG.SYS", 86, False), ("LDG.E", 86, False), ("RED.E.ADD", 86, True),
        ("ATOMS.ADD", 86, False), ("LDGSTS.E.BYPASS.128", 86, False), ("LDGSTS.E.BYPASS.128", 90, True),
        ("STG.E.STRONG.GPU", 86, False), ("STG.E.STRONG.GPU", 90, True),
    ],
)  # fmt: skip
def test_what_skips_the_l1(opcode: str, binary: int, bypasses: bool) -> None:
    assert classify(opcode, binary).bypasses_l1 is bypasses


@pytest.mark.parametrize(("shape", "cycles"), [("64x256x16", 128), ("64x64x16", 32), ("64x56x16", 56), ("64x8x16", 18)])
def test_a_warpgroup_mma_takes_as_long_as_its_n(shape: str, cycles: int) -> None:
    info = classify(f"HGMMA.{shape}.F32", 90)
    assert (info.kind, info.latency_cycles, info.initiation_cycles) == (p.KIND_GMMA, cycles, cycles)


@pytest.mark.parametrize(
    ("opcode", "kind"),
    [
        ("UTMALDG.2D", p.KIND_TMA_LOAD), ("UTMASTG.2D", p.KIND_TMA_STORE), ("UBLKCP.S.G", p.KIND_TMA_LOAD),
        ("UBLKCP.G.S", p.KIND_TMA_STORE), ("UBLKCP.S.S", p.KIND_ALU), ("UTMACMDFLUSH", p.KIND_LDGDEPBAR),
        ("SYNCS.EXCH.64", p.KIND_MBARRIER_INIT), ("SYNCS.ARRIVE.TRANS64", p.KIND_MBARRIER_ARRIVE),
        ("SYNCS.PHASECHK.TRANS64.TRYWAIT", p.KIND_MBARRIER_WAIT), ("WARPGROUP.DEPBAR.LE", p.KIND_GMMA_WAIT),
        ("WARPGROUP.ARRIVE", p.KIND_ALU), ("UCGABAR_WAIT", p.KIND_ALU),
    ],
)  # fmt: skip
def test_hopper_instructions_have_their_effects(opcode: str, kind: int) -> None:
    assert classify(opcode, 90).kind == kind


@pytest.mark.parametrize(
    ("opcode", "unit"),
    [
        ("UVIADD", p.UNIT_UNIFORM), ("FFMA2", p.UNIT_SP), ("UTCHMMA.2CTA", p.UNIT_GMMA), ("LDTM.x32", p.UNIT_TENSOR),
        ("OMMA.SF", p.UNIT_TENSOR), ("IADD64", p.UNIT_INT), ("LDGX.E", p.UNIT_MEM), ("FROBNICATE", p.UNIT_SP),
        ("XYZZY", p.UNIT_INT), ("BRANCHLESS", p.UNIT_BRANCH), ("TEXX", p.UNIT_TEXTURE), ("DMNMX3", p.UNIT_DP),
    ],
)  # fmt: skip
def test_an_unknown_opcode_takes_its_familys_unit(opcode: str, unit: int) -> None:
    info = classify(opcode, 100)
    assert (info.unit, info.known) == (unit, False)


@pytest.mark.parametrize(
    ("binary", "name"),
    [(35, "pascal"), (61, "pascal"), (70, "volta"), (72, "volta"), (75, "turing"), (87, "ampere"), (89, "ampere"),
    (90, "hopper"),
     (100, "blackwell"), (120, "blackwell")],
)  # fmt: skip
def test_every_binary_version_has_a_table(binary: int, name: str) -> None:
    assert architecture_of(binary) == name


def test_older_sass_is_known_where_it_was_in_use() -> None:
    assert classify("XMAD.MRG", 61).known
    assert not classify("XMAD.MRG", 86).known


@given(st.text(max_size=40), st.integers(0, 200))
def test_no_opcode_ends_a_run(opcode: str, binary: int) -> None:
    assert classify(opcode, binary).unit in range(len(p.UNIT_NAMES))
