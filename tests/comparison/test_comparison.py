"""The comparison of a run: what each figure means."""

import csv
import io
import json

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs.comparison import UnknownBaselineError, compare
from runs.comparison_export import COLUMNS, to_csv, to_parquet
from runs.rows import RealKernel, SimulatedKernel, SimulatedRun

REAL = [
    RealKernel(1, "gemm", real_ns=1000),
    RealKernel(2, "norm", real_ns=100),
    RealKernel(3, "gemm", real_ns=None),
    RealKernel(4, "gemm", real_ns=900),
]


def sim(config: str, *times: float | None, clock_mhz: float = 1000.0) -> SimulatedRun:
    kernels = [
        SimulatedKernel(index, REAL[index - 1].name, None if ns is None else int(ns + 50), ns, launch_cycles=50)
        for index, ns in enumerate(times, start=1)
    ]
    return SimulatedRun(config, f"sim-{config}", clock_mhz, kernels)


def body(*runs: SimulatedRun, **choices: object) -> dict:
    return compare("run-1", "trace-1", REAL, runs, **choices)  # type: ignore[arg-type]


def test_a_kernel_row_has_the_real_time_and_each_configs_signed_error() -> None:
    first = body(sim("A", 1100, 100, 500, 900))["kernels"][0]
    assert (first["index"], first["name"], first["real_ns"]) == (1, "gemm", 1000)
    assert first["configs"]["A"]["error"] == pytest.approx(0.1)
    assert first["configs"]["A"]["cycles"] == 1150


def test_a_summary_is_over_the_kernels_that_both_sides_have() -> None:
    summary = body(sim("A", 1100, 90, 500))["summary"]["A"]
    assert summary["kernels_compared"] == 2
    assert (summary["real_ns"], summary["simulated_ns"]) == (1100, 1190)
    assert (summary["only_real"], summary["only_simulated"]) == (1, 1)


def test_the_aggregate_error_weighs_by_time_and_mape_by_kernel() -> None:
    summary = body(sim("A", 1100, 90, None, 900))["summary"]["A"]
    assert summary["error"] == pytest.approx(90 / 2000)
    assert summary["mape"] == pytest.approx((0.1 + 0.1 + 0) / 3)
    assert summary["absolute_error"] == pytest.approx(110 / 2000)


def test_the_geometric_mean_treats_twice_and_half_alike() -> None:
    assert body(sim("A", 2000, 50))["summary"]["A"]["geomean_ratio"] == pytest.approx(1.0)


def test_a_simulator_off_by_a_constant_factor_correlates_perfectly() -> None:
    summary = body(sim("A", 3000, 300, None, 2700))["summary"]["A"]
    assert summary["pearson_r"] == pytest.approx(1.0)


def test_one_kernel_has_no_correlation() -> None:
    assert body(sim("A", 1100))["summary"]["A"]["pearson_r"] is None


def test_kernels_near_the_real_time_and_over_and_under_it_are_counted() -> None:
    summary = body(sim("A", 1005, 109, None, 700))["summary"]["A"]
    assert (summary["within_1_percent"], summary["within_10_percent"]) == (1, 2)
    assert (summary["over"], summary["under"]) == (2, 1)


def test_shares_say_which_kernel_makes_the_step_and_which_the_error() -> None:
    rows = body(sim("A", 1300, 200, None, 900))["kernels"]
    assert rows[0]["real_share"] == pytest.approx(0.5)
    assert [row["configs"].get("A", {}).get("share_of_error") for row in rows] == [0.75, 0.25, None, 0.0]


def test_launch_latency_is_taken_off_unless_asked_for() -> None:
    assert body(sim("A", 1000))["summary"]["A"]["error"] == 0
    assert body(sim("A", 1000), include_launch_latency=True)["summary"]["A"]["error"] == pytest.approx(0.05)


def test_any_config_can_be_the_baseline() -> None:
    found = body(sim("A", 1000, 200), sim("B", 500, 100), baseline="A")
    assert found["kernels"][0]["configs"]["B"]["ratio"] == pytest.approx(0.5)
    assert found["kernels"][0]["configs"]["B"]["error"] == pytest.approx(-0.5)
    assert found["summary"]["B"]["against_baseline"]["speedup"] == pytest.approx(2.0)


def test_an_unknown_baseline_is_named_with_the_choices() -> None:
    with pytest.raises(UnknownBaselineError, match=r"'C'.*choose one of real, A\."):
        body(sim("A", 1), baseline="C")


def test_kernels_of_one_name_are_taken_together_with_nsys_columns() -> None:
    gemm, norm = body(sim("A", 1100, 100, 800, 900))["groups"]
    assert (gemm["name"], gemm["launches"], norm["name"]) == ("gemm", 3, "norm")
    assert gemm["real"] == {
        "instances": 2,
        "total_ns": 1900,
        "avg_ns": 950,
        "med_ns": 950,
        "min_ns": 900,
        "max_ns": 1000,
        "stddev_ns": pytest.approx(70.71, abs=0.01),
    }
    assert gemm["configs"]["A"]["error"] == pytest.approx(100 / 1900)
    assert gemm["configs"]["A"]["simulated_ns"] == 2800


def test_a_kernel_that_only_the_log_has_is_listed_without_a_real_time() -> None:
    extra = SimulatedRun("A", "sim-A", 1000.0, [SimulatedKernel(9, "stray", 10, 10.0)])
    last = body(extra)["kernels"][-1]
    assert (last["index"], last["name"], last["real_ns"]) == (9, "stray", None)


def test_a_trace_without_real_times_still_has_totals() -> None:
    summary = compare("r", "t", [RealKernel(1, "gemm")], [sim("A", 700)])["summary"]["A"]
    assert (summary["simulated_ns"], summary["real_ns"], summary["error"]) == (700, None, None)


@given(
    st.lists(st.tuples(st.none() | st.floats(), st.none() | st.floats()), max_size=8),
)
def test_no_input_makes_a_number_json_cannot_write(times: list[tuple[float | None, float | None]]) -> None:
    real = [RealKernel(i, f"k{i % 3}", real_ns=t) for i, (t, _) in enumerate(times, start=1)]
    kernels = [SimulatedKernel(i, f"k{i % 3}", 5, t) for i, (_, t) in enumerate(times, start=1)]
    json.dumps(compare("r", "t", real, [SimulatedRun("A", "s", 0.0, kernels)]), allow_nan=False)


def test_a_csv_cell_cannot_be_run_by_a_spreadsheet() -> None:
    evil = compare("r", "t", [RealKernel(1, '=HYPERLINK("http://x")', real_ns=5)], [sim("A", 3)])
    text = b"".join(to_csv(evil)).decode()
    row = next(csv.DictReader(io.StringIO(text)))
    assert row["name"] == '\'=HYPERLINK("http://x")'
    assert float(row["error"]) == pytest.approx(-0.4)


def test_a_csv_has_a_row_per_kernel_and_config_and_empty_cells_for_the_unknown() -> None:
    rows = list(csv.DictReader(io.StringIO(b"".join(to_csv(body(sim("A", 1100, 90, 5), sim("B", 1)))).decode())))
    assert [(row["index"], row["gpu_config"]) for row in rows] == [
        ("1", "A"),
        ("1", "B"),
        ("2", "A"),
        ("3", "A"),
        ("4", ""),
    ]
    assert rows[3]["error"] == ""


def test_parquet_holds_the_same_rows_with_their_origin() -> None:
    table = pq.read_table(io.BytesIO(to_parquet(body(sim("A", 1100, 90)))))
    assert tuple(table.column_names) == COLUMNS
    assert table.column("simulated_ns").to_pylist()[:2] == [1100, 90]
    assert table.schema.metadata[b"run_id"] == b"run-1"


def test_an_empty_run_exports_to_an_empty_table() -> None:
    empty = compare("r", "t", [], [])
    assert pq.read_table(io.BytesIO(to_parquet(empty))).num_rows == 0
    assert len(b"".join(to_csv(empty)).splitlines()) == 1
