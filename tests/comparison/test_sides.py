"""Sims held against one of them, over the kernels they have in common."""

import pytest

from runs.sides import Times, difference, matrix, matrix_by_name

NAMES = {1: "gemm", 2: "copy", 3: "gemm"}
BASE = Times("t", {1: 100.0, 2: 50.0, 3: 300.0})


def test_a_difference_is_over_the_kernels_in_common() -> None:
    found = difference(Times("t", {1: 110.0, 2: 40.0, 9: 7.0}), BASE)
    assert (found.common, found.only_here, found.only_there) == (2, 1, 1)
    assert found.delta == pytest.approx(0.0)
    assert found.delta_ns == pytest.approx(0.0)
    assert found.geomean == pytest.approx((1.1 * 0.8) ** 0.5)
    assert found.total_ns == pytest.approx(157)


def test_sims_of_two_traces_have_no_kernel_in_common() -> None:
    found = difference(Times("other", {1: 110.0}), BASE)
    assert (found.common, found.only_here, found.only_there, found.delta) == (0, None, None, None)


def test_a_sim_without_results_differs_in_nothing() -> None:
    found = difference(Times("t", {}), BASE)
    assert (found.kernels, found.only_there, found.total_ns, found.delta, found.geomean) == (0, 3, None, None, None)


def test_the_matrix_has_each_kernel_of_the_baseline_with_its_worst_difference() -> None:
    rows = matrix(NAMES, BASE, [Times("t", {1: 110.0, 2: 50.0}), Times("t", {1: 80.0})]).to_pylist()
    assert [(row["index"], row["name"], row["base"]) for row in rows] == [
        (1, "gemm", 100),
        (2, "copy", 50),
        (3, "gemm", 300),
    ]
    assert rows[0]["delta0"] == pytest.approx(0.1)
    assert rows[0]["delta1"] == pytest.approx(-0.2)
    assert rows[0]["worst"] == pytest.approx(0.2)
    assert (rows[2]["ns0"], rows[2]["delta0"], rows[2]["worst"]) == (None, None, None)


def test_a_threshold_leaves_out_what_differs_by_less() -> None:
    rows = matrix(NAMES, BASE, [Times("t", {1: 110.0, 2: 51.0, 3: 300.0})], threshold=0.05).to_pylist()
    assert [row["index"] for row in rows] == [1]


def test_kernels_of_one_name_are_summed_over_those_that_both_have() -> None:
    rows = matrix_by_name(NAMES, BASE, [Times("t", {1: 150.0, 2: 50.0})]).to_pylist()
    gemm = next(row for row in rows if row["name"] == "gemm")
    assert (gemm["launches"], gemm["base"], gemm["ns0"]) == (2, 400, 150)
    assert gemm["delta0"] == pytest.approx(0.5)


def test_a_name_that_the_other_side_lacks_has_no_difference() -> None:
    rows = matrix_by_name(NAMES, BASE, [Times("t", {2: 50.0})]).to_pylist()
    gemm = next(row for row in rows if row["name"] == "gemm")
    assert (gemm["ns0"], gemm["delta0"]) == (None, None)


def test_a_kernel_that_takes_no_time_divides_nothing() -> None:
    rows = matrix({1: "k"}, Times("t", {1: 0.0}), [Times("t", {1: 5.0})]).to_pylist()
    assert rows[0]["delta0"] is None
