"""The configurations that ship with Cascade."""

from pathlib import Path

import pytest

from sims.gpus import GpuSpec, SpecError, check, diff, load_shipped, read_accelsim_config, unsupported
from sims.gpus.shipped import read_toml

IDS = ["SM7_QV100", "SM75_RTX2060", "SM80_A100", "SM86_RTX3070", "SM89_RTX4090", "SM90_H100"]


def test_six_gpus_ship_from_volta_to_hopper() -> None:
    assert list(load_shipped()) == IDS


@pytest.fixture(params=IDS)
def spec(request: pytest.FixtureRequest) -> GpuSpec:
    return load_shipped()[request.param]


def test_it_agrees_with_its_data_sheet_and_itself(spec: GpuSpec) -> None:
    assert check(spec) == []


def test_it_asks_for_nothing_the_model_lacks(spec: GpuSpec) -> None:
    assert unsupported(spec) == []


def test_every_figure_has_a_source(spec: GpuSpec) -> None:
    assert spec.sources[""]
    assert spec.sources["datasheet_bandwidth_gbs"]


def test_sources_name_fields_that_exist(spec: GpuSpec) -> None:
    assert [name for name in spec.sources if name and not hasattr(spec, name)] == []


@pytest.mark.parametrize(
    ("config_id", "l2_mib", "bandwidth_gbs"),
    [
        ("SM7_QV100", 6, 870.4),
        ("SM75_RTX2060", 3, 336.0),
        ("SM80_A100", 40, 2039.0),
        ("SM86_RTX3070", 4, 448.1),
        ("SM89_RTX4090", 72, 1008.0),
        ("SM90_H100", 50, 3352.3),
    ],
)
def test_derived_figures_come_out_as_published(config_id: str, l2_mib: int, bandwidth_gbs: float) -> None:
    spec = load_shipped()[config_id]
    assert spec.l2_bytes == l2_mib * 2**20
    assert spec.memory_bandwidth_gbs == pytest.approx(bandwidth_gbs, abs=0.1)


def test_it_refuses_a_file_with_a_field_nobody_knows(tmp_path: Path) -> None:
    (tmp_path / "SM1.toml").write_text('id = "SM1"\n[l2]\nbanks = 4\n')
    with pytest.raises(SpecError, match=r"SM1.toml: .*l2_banks"):
        read_toml(tmp_path / "SM1.toml")


def test_it_refuses_a_file_that_is_no_toml(tmp_path: Path) -> None:
    (tmp_path / "SM1.toml").write_text("id = = 1")
    with pytest.raises(SpecError, match=r"SM1.toml"):
        read_toml(tmp_path / "SM1.toml")


@pytest.mark.parametrize("config_id", ["SM7_QV100", "SM75_RTX2060", "SM86_RTX3070"])
def test_it_gives_the_engine_what_accelsims_config_gives(shared: Path, config_id: str) -> None:
    original = read_accelsim_config(shared / "reference/accelsim/configs" / config_id)
    assert diff(load_shipped()[config_id], original.spec) == []
    assert original.unknown == original.warnings == []
