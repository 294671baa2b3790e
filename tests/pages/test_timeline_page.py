"""Names on the timeline tab: posted mangled, by anyone."""

from runs.pages.timeline import shown_names


def test_a_mangled_name_has_a_short_and_a_whole_spelling() -> None:
    name = "_Z11copy_kernelIdEvPKT_PS0_"
    assert shown_names([{"name": name}]) == {name: ["copy_kernel", "void copy_kernel<double>(double const*, double*)"]}


def test_what_is_no_name_is_shown_as_it_is() -> None:
    assert shown_names([{"name": 7}, {}]) == {"7": ["7", "7"], "None": ["None", "None"]}
