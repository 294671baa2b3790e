"""Which launch is which kernel: spellings, order, gaps, alignments, and what is said out loud."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traces.matching import TraceKernel, match
from traces.times import Launch, TimesReport
from traces.times.gpu_names import same_gpu
from traces.times.names import kernel_name, short_name

GRID, BLOCK = (8, 1, 1), (64, 1, 1)


def kernel(index: int, name: str, grid: tuple[int, int, int] = GRID) -> TraceKernel:
    return TraceKernel(index, name, grid, BLOCK, f"kernel-{index}.traceg")


def launch(name: str, ns: float = 100.0, grid: tuple[int, int, int] | None = GRID, **facts: object) -> Launch:
    return Launch(name, ns, grid, BLOCK if grid else None, **facts)  # type: ignore[arg-type]


def times(*launches: Launch, **facts: object) -> TimesReport:
    return TimesReport("nsys-csv", list(launches), **facts)  # type: ignore[arg-type]


class TestNames:
    @pytest.mark.parametrize(
        "spelling",
        [
            "_Z6vecAddIfEvPT_S1_S1_i",
            "void vecAdd<float>(T1 *, T1 *, T1 *, int)",
            "void vecAdd<float>(float*, float*, float*, int)",
        ],
    )
    def test_a_template_is_recognised_in_every_spelling(self, spelling: str) -> None:
        assert kernel_name(spelling).template == "vecAdd<float>"

    def test_the_short_name_is_the_last_resort(self) -> None:
        assert kernel_name("void at::native::(anonymous namespace)::fill<int, (int)4>(int *)").short == "fill"

    @pytest.mark.parametrize(("width", "shown"), [(6, "vecAdd"), (5, "ve...")])
    def test_a_table_shows_the_bare_function_as_far_as_it_has_room(self, width: int, shown: str) -> None:
        assert short_name("_Z6vecAddIfEvPT_S1_S1_i", width) == shown

    def test_integer_arguments_are_the_same_with_and_without_a_cast(self) -> None:
        spelled = {kernel_name(f"void k<{args}>(T1)").template for args in ("(int)128, (bool)1", "128, true")}
        assert len(spelled) == 1

    @pytest.mark.parametrize("digest", ["0d993ca2_21_norm_cu_c8e3d4e5_1", "f1e2d3c4_21_norm_cu_00000000_9"])
    def test_the_hash_of_an_anonymous_namespace_differs_per_build_and_is_ignored(self, digest: str) -> None:
        space = f"_GLOBAL__N__{digest}"
        assert kernel_name(f"_ZN{len(space)}{space}4fillEPi").full == "_anonymous_::fill(int*)"

    def test_a_lambda_inside_of_template_arguments_does_not_end_the_name(self) -> None:
        name = "void at::elementwise<128, at::impl<at::mul(int)::{lambda(float)#1}>(int, T2)::{lambda(int)#2}>(int, T3)"
        assert kernel_name(name).qualified == "at::elementwise"

    def test_a_library_name_that_is_not_mangled_stays(self) -> None:
        assert kernel_name("nvjet_sm90_tst_64x8_64x16_4x2_h_bz_splitK_TNT").full.startswith("nvjet_sm90")

    def test_a_name_of_hostile_length_is_left_alone(self) -> None:
        name = "_Z" + "N" * 1_000_000
        assert kernel_name(name).full == name

    def test_a_name_of_a_million_brackets_is_taken_apart_at_once(self) -> None:
        assert kernel_name("k" + "<" * 1_000_000).qualified == "k"

    @given(st.text(alphabet="<>(){}[]: ,*&aT1operator-_Z9", max_size=60))
    def test_any_text_has_four_forms(self, text: str) -> None:
        forms = kernel_name(text)
        assert len(forms.short) <= len(forms.qualified)


class TestMatching:
    def test_a_mangled_trace_meets_a_demangled_profile(self) -> None:
        found = match(
            [kernel(1, "_Z6vecAddIfEvPT_S1_S1_i")], times(launch("void vecAdd<float>(T1 *, T1 *, T1 *, int)"))
        )
        assert found.kernel_of == [1]

    def test_a_mangled_trace_meets_a_short_profile(self) -> None:
        assert match([kernel(1, "_Z6vecAddIfEvPT_S1_S1_i")], times(launch("vecAdd"))).kernel_of == [1]

    def test_templates_of_another_type_are_told_apart(self) -> None:
        found = match(
            [kernel(1, "_Z3addIfEvPT_"), kernel(2, "_Z3addIdEvPT_")],
            times(launch("void add<double>(T1 *)"), launch("void add<float>(T1 *)")),
        )
        assert found.kernel_of == [2, 1]

    def test_another_grid_is_another_kernel(self) -> None:
        found = match([kernel(1, "k", (4, 1, 1))], times(launch("k")))
        assert (found.unmatched_kernels, found.unmatched_launches) == ([1], [0])

    def test_a_profile_without_grids_is_matched_by_name(self) -> None:
        assert match(
            [kernel(1, "k", (4, 1, 1)), kernel(2, "k")], times(launch("k", grid=None), launch("k", grid=None))
        ).kernel_of == [1, 2]

    def test_equal_launches_are_paired_by_occurrence(self) -> None:
        found = match([kernel(1, "a"), kernel(2, "b"), kernel(3, "a")], times(launch("a"), launch("a"), launch("b")))
        assert found.kernel_of == [1, 3, 2]

    def test_the_api_order_counts_not_the_hardware_order(self) -> None:
        second, first = launch("k", 1.0, correlation_id=20), launch("k", 2.0, correlation_id=10)
        assert match([kernel(1, "k"), kernel(2, "k")], times(second, first)).kernel_of == [2, 1]

    def test_a_trace_of_a_range_finds_its_place_between_its_neighbours(self) -> None:
        names = ["g", "a", "g", "g", "b", "g", "c", "g"]
        kernels = [kernel(1, "g"), kernel(2, "b"), kernel(3, "g"), kernel(4, "c")]
        assert match(kernels, times(*map(launch, names))).kernel_of == [None, None, None, 1, 2, 3, 4, None]

    def test_a_trace_of_one_step_is_the_first_of_repeated_steps(self) -> None:
        found = match([kernel(1, "a"), kernel(2, "b")], times(*map(launch, "abababab")))
        assert found.kernel_of == [1, 2, None, None, None, None, None, None]

    def test_a_launch_that_the_profile_lost_leaves_only_its_kernel_alone(self) -> None:
        kernels = [kernel(i, name) for i, name in enumerate("abgcgdg", start=1)]
        found = match(kernels, times(*map(launch, "abcgdg")))
        assert found.unmatched_kernels == [3]

    def test_kernels_lost_on_both_sides_do_not_shift_the_rest(self) -> None:
        names = ["norm", "gemv", "rope", "attn", "o", "gate", "down"] * 40
        kernels = [kernel(i, name) for i, name in enumerate(names, start=1) if i not in (12, 100, 190)]
        launches = [launch(name, float(i)) for i, name in enumerate(names, start=1) if i not in (50, 140, 222)]
        found = match(kernels, times(*launches))
        assert all(
            index == launches[place].duration_ns for place, index in enumerate(found.kernel_of) if index is not None
        )
        assert len(found.launches_of) == 274

    def test_a_trace_of_the_last_layers_does_not_match_the_first(self) -> None:
        names = [*["norm", "gemv", "rope"] * 20, "head"]
        kernels = [kernel(i, name) for i, name in enumerate(names, start=1) if i > 30]
        assert match(kernels, times(*map(launch, names))).kernel_of == [None] * 30 + list(range(31, 62))

    def test_an_alignment_wins_over_names_and_may_repeat_a_kernel(self) -> None:
        found = match(
            [kernel(7, "x")],
            times(launch("y", 10.0, trace_kernel=7), launch("z", 20.0, trace_kernel="kernel-7.traceg.xz")),
        )
        assert found.kernel_of == [7, 7]
        assert found.real_ns([launch("y", 10.0), launch("z", 20.0)]) == {7: 15.0}

    def test_an_alignment_to_a_kernel_that_is_not_there_is_told(self) -> None:
        assert "names 1 trace kernels" in match([kernel(1, "x")], times(launch("y", trace_kernel=9))).notes[0]

    @given(st.lists(st.sampled_from("abc"), min_size=1, max_size=30), st.randoms(use_true_random=False))
    def test_no_launch_and_no_kernel_is_used_twice(self, names: list[str], chance: random.Random) -> None:
        kept = [name for name in names if chance.random() < 0.7]
        found = match([kernel(i, name) for i, name in enumerate(names, start=1)], times(*map(launch, kept)))
        used = [index for index in found.kernel_of if index is not None]
        assert len(used) == len(set(used)) == len(kept)
        assert all(names[index - 1] == kept[place] for place, index in enumerate(found.kernel_of) if index)


class TestNotes:
    def test_another_gpu_is_said(self) -> None:
        found = match(
            [kernel(1, "k")],
            times(launch("k"), device_names=("NVIDIA H100 80GB HBM3",)),
            trace_gpu="NVIDIA A100-SXM4-40GB",
        )
        assert "The times are of NVIDIA H100 80GB HBM3" in found.notes[0]

    def test_a_clock_is_said(self) -> None:
        assert match([kernel(1, "k")], times(launch("k"), clock_note="At base clock.")).notes == ["At base clock."]

    def test_counts_that_differ_are_said(self) -> None:
        notes = match([kernel(1, "k")], times(launch("k"), launch("other"))).notes
        assert notes == [
            "The trace has 1 kernels, the times have 2 launches.",
            "1 launches in the times have no kernel in the trace.",
        ]

    def test_a_profile_that_repeats_the_trace_is_said(self) -> None:
        notes = match([kernel(1, "a")], times(launch("a"), launch("a"))).notes
        assert notes[-1] == "1 of these repeat kernels of the trace; the earliest launches that fit were taken."

    @pytest.mark.parametrize(
        ("first", "second", "same"),
        [
            ("NVIDIA A100-SXM4-40GB", "A100", True),
            ("NVIDIA GeForce RTX 3070", "SM86_RTX3070", True),
            ("NVIDIA H100 80GB HBM3", "SM90_H100", True),
            ("NVIDIA GeForce RTX 3070", "RTX 3070 Ti", False),
            ("TITAN Xp", "TITAN V", False),
            ("NVIDIA B200", "SM90_H100", False),
        ],
    )
    def test_a_gpu_has_many_names(self, first: str, second: str, same: bool) -> None:
        assert same_gpu(first, second) is same
