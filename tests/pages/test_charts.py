"""Still pictures: the geometry of what the templates draw."""

import numpy as np
import pytest

from cascade_site.charts.bars import BarInput, bar_chart
from cascade_site.charts.line import line_chart
from cascade_site.charts.roofline import KernelPoint, roofline_chart
from cascade_site.charts.scatter import MOST_DOTS, Series, scatter_chart
from cascade_site.charts.stack import stack_chart
from sims.gpus import load_shipped


def test_bars_are_on_one_scale_from_zero() -> None:
    chart = bar_chart("times", [BarInput("a", 1000.0, 0), BarInput("b", 500.0, 1), BarInput("c", None, 2)])
    assert chart is not None
    assert [bar.label for bar in chart.bars] == ["a", "b"]
    assert chart.bars[1].width == pytest.approx(chart.bars[0].width / 2)


@pytest.mark.parametrize("values", [[], [None], [0.0]])
def test_there_is_no_bar_chart_of_nothing(values: list[float | None]) -> None:
    assert bar_chart("times", [BarInput("a", value, 0) for value in values]) is None


def series(real_ns: list[float], simulated_ns: list[float]) -> Series:
    return Series(0, np.array(real_ns), np.array(simulated_ns), lambda at: (f"kernel {at}", f"/{at}"))


@pytest.mark.parametrize("logarithmic", [True, False])
def test_a_point_that_is_right_lies_on_the_diagonal(logarithmic: bool) -> None:
    chart = scatter_chart([series([1e3, 1e6], [1e3, 1e6])], logarithmic)
    assert chart is not None
    x0, y0, x1, y1 = chart.ideal
    for dot in chart.dots:
        assert (dot.x - x0) / (x1 - x0) == pytest.approx((dot.y - y0) / (y1 - y0), abs=1e-3)


def test_the_longest_kernels_say_what_they_are_and_the_others_are_drawn_too() -> None:
    times = [10.0 * n for n in range(1, MOST_DOTS + 11)]
    chart = scatter_chart([series(times, times)])
    assert chart is not None
    assert {dot.title for dot in chart.dots} == {f"kernel {at}" for at in range(10, MOST_DOTS + 10)}
    assert chart.clouds[0].path.count("M") == 10


def test_a_chart_of_several_series_has_the_longest_of_all_as_dots() -> None:
    long, short = [1e6 + n for n in range(MOST_DOTS)], [1e3 + n for n in range(MOST_DOTS)]
    chart = scatter_chart([series(short, short), series(long, long)])
    assert chart is not None
    assert all(dot.x > chart.width / 2 for dot in chart.dots)


@pytest.mark.parametrize("logarithmic", [True, False])
@pytest.mark.parametrize("highest", [1.0, 9.9e3, 1e4, 3e9])
def test_axes_have_a_few_round_times(highest: float, logarithmic: bool) -> None:
    chart = scatter_chart([series([highest, highest / 7], [highest, highest])], logarithmic)
    assert chart is not None
    assert 2 <= len(chart.x_ticks) <= 7
    assert all(chart.left <= tick.place <= chart.width for tick in chart.x_ticks)


def test_points_without_a_time_are_no_points() -> None:
    assert scatter_chart([series([0, 5, np.nan], [5, 0, 5])]) is None


def test_a_stacks_shares_stand_under_their_names_in_the_table() -> None:
    chart = stack_chart("spent", ("issue", "L2", "DRAM"), [("a", {"issue": 1, "DRAM": 3}), ("b", {"L2": 1, "DRAM": 1})])
    assert chart is not None
    assert [name for name, _ in chart.names] == ["issue", "L2", "DRAM"]
    assert chart.table == [("a", ["25.0 %", "0.0 %", "75.0 %"]), ("b", ["0.0 %", "50.0 %", "50.0 %"])]


def test_each_stack_is_scaled_to_its_own_total() -> None:
    chart = stack_chart("spent", ("L2", "DRAM"), [("a", {"L2": 1, "DRAM": 3}), ("b", {"L2": 100, "DRAM": 300})])
    assert chart is not None
    first, second = ([part.width for part in stack.parts] for stack in chart.stacks)
    assert first == second


def test_a_curve_has_a_mark_per_value_in_order() -> None:
    chart = line_chart("sms", [("SM80_A100", [(80.0, 2.0, "/b"), (40.0, 4.0, "/a")])], real_ns=3.0)
    assert chart is not None
    assert [mark.href for mark in chart.curves[0].marks] == ["/a", "/b"]
    assert chart.real_y is not None


def test_a_curve_stands_over_round_times() -> None:
    chart = line_chart("sms", [("a", [(40.0, 90_900.0, "/a")])], real_ns=171_000.0)
    assert chart is not None
    assert [label for _, label in chart.y_ticks] == ["0", "50.0 µs", "100 µs", "150 µs"]


def test_a_curve_of_one_value_is_drawn() -> None:
    assert line_chart("sms", [("a", [(80.0, 2.0, "")])]) is not None


def test_no_kernel_is_above_its_roof() -> None:
    spec = load_shipped()["SM80_A100"]
    point = KernelPoint(1, "copy", 32_000_000, 100_000_000, 100_000, "/x")
    chart = roofline_chart(spec, [point, KernelPoint(2, "alu", 10**9, 1000, 200_000, "/y")], 300_000)
    assert chart is not None
    assert all(spot.y >= chart.ridge[1] for spot in chart.spots)


def test_the_labels_of_the_roof_are_below_it() -> None:
    chart = roofline_chart(load_shipped()["SM80_A100"], [KernelPoint(1, "a", 5, 5, 5, "")], 5)
    assert chart is not None
    assert chart.slope[0] < chart.ridge[0]
    assert chart.slope[1] > chart.ridge[1]


def test_a_kernel_without_dram_traffic_has_no_place_under_the_roof() -> None:
    assert roofline_chart(load_shipped()["SM80_A100"], [KernelPoint(1, "a", 5, 0, 5, "")], 5) is None
