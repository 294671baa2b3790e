"""Times of kernels that were not simulated: where they come from, and how wrong they are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sims.propagation import GpuRates, KernelFacts, KnownKernel, Propagator

SLOW, FAST = GpuRates(compute_rate=1000, bandwidth_gbs=500), GpuRates(compute_rate=4000, bandwidth_gbs=1000)


def facts(name: str = "gemm", ctas: int = 8, real_ns: float | None = 100.0, **more: object) -> KernelFacts:
    return KernelFacts(name, (ctas, 1, 1), (128, 1, 1), real_ns, **more)  # type: ignore[arg-type]


def known(simulated_ns: float, *args: object, **more: object) -> KnownKernel:
    return KnownKernel(facts(*args, **more), simulated_ns)  # type: ignore[arg-type]


def test_a_kernel_of_a_simulated_class_takes_its_ratio() -> None:
    found = Propagator([known(50.0), known(52.0), known(54.0)]).predict(facts(real_ns=200.0))
    assert found is not None
    assert (found.ns, found.method, found.based_on) == (104.0, "class", 3)


def test_the_interval_holds_what_the_class_showed() -> None:
    found = Propagator([known(40.0), known(50.0), known(90.0)]).predict(facts())
    assert found is not None
    assert (found.low_ns, found.high_ns) == (40, 90)


def test_without_a_real_time_the_classes_own_time_is_taken() -> None:
    found = Propagator([known(50.0, real_ns=None)]).predict(facts(real_ns=None))
    assert found is not None
    assert found.ns == 50


def test_the_instruction_profile_tells_kernels_of_one_shape_apart() -> None:
    simulated = [known(50.0, profile=(0.9, 0.1)), known(80.0, profile=(0.5, 0.5))]
    found = Propagator(simulated).predict(facts(profile=(0.5, 0.5)))
    assert found is not None
    assert found.ns == 80


def test_a_kernel_that_was_never_traced_is_of_all_profiles_of_its_shape() -> None:
    simulated = [known(50.0, profile=(0.9, 0.1)), known(80.0, profile=(0.5, 0.5))]
    found = Propagator(simulated).predict(facts())
    assert found is not None
    assert (found.method, found.ns) == ("class", 65)


def test_between_two_sizes_the_ratio_is_interpolated() -> None:
    found = Propagator([known(50.0, ctas=4), known(100.0, ctas=16)]).predict(facts(ctas=8))
    assert found is not None
    assert found.method == "size"
    assert found.ns == pytest.approx((50 * 100) ** 0.5)


def test_beyond_the_largest_size_the_ratio_stays() -> None:
    found = Propagator([known(50.0, ctas=4), known(100.0, ctas=16)]).predict(facts(ctas=64, real_ns=1000.0))
    assert found is not None
    assert found.ns == pytest.approx(1000)


def test_beyond_the_largest_size_a_time_grows_with_the_work() -> None:
    found = Propagator([known(100.0, ctas=16, real_ns=None)]).predict(facts(ctas=64, real_ns=None))
    assert found is not None
    assert found.ns == pytest.approx(400)


def test_an_unknown_kernel_lies_between_what_bandwidth_and_compute_allow() -> None:
    found = Propagator([known(50.0)], SLOW, FAST).predict(facts("other"))
    assert found is not None
    assert (found.method, found.low_ns, found.high_ns) == ("roofline", 25, 50)
    assert found.low_ns < found.ns < found.high_ns


def test_without_gpu_figures_an_unknown_kernel_takes_the_ratio_of_all() -> None:
    found = Propagator([known(50.0), known(200.0, "b")]).predict(facts("other"))
    assert found is not None
    assert (found.method, found.ns) == ("overall", pytest.approx(100))


def test_without_anything_alike_and_without_a_real_time_there_is_no_answer() -> None:
    assert Propagator([known(50.0)], SLOW, FAST).predict(facts("other", real_ns=None)) is None
    assert Propagator([]).predict(facts()) is None


def test_leaving_one_out_is_exact_where_classes_are_regular() -> None:
    error = Propagator([known(50.0) for _ in range(10)]).leave_one_out()
    assert (error.kernels, error.mape, error.error, error.within_interval) == (10, 0, 0, 1)
    assert error.by_method == {"class": 10}


def test_leaving_one_out_finds_a_lone_kernel_worse_than_its_class() -> None:
    error = Propagator([known(50.0), known(50.0), known(400.0, "lone")]).leave_one_out()
    assert error.by_method == {"class": 2, "overall": 1}
    assert error.mape == pytest.approx((400 - 50) / 400 / 3)


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(1, 64), st.floats(1, 1e6), st.floats(1, 1e6)), max_size=12),
    st.sampled_from("abc"),
    st.integers(1, 64),
    st.none() | st.floats(1, 1e6),
)
def test_every_answer_lies_in_its_own_interval(
    simulated: list[tuple[str, int, float, float]], name: str, ctas: int, real_ns: float | None
) -> None:
    propagator = Propagator([known(ns, kind, size, real) for kind, size, real, ns in simulated])
    found = propagator.predict(facts(name, ctas, real_ns))
    if found is not None:
        assert 0 < found.low_ns <= found.ns * (1 + 1e-9)
        assert found.ns <= found.high_ns * (1 + 1e-9)
