"""Files of people who profile for a living. They are not ours to commit, so these run where the reference set is."""

from pathlib import Path

import pytest

from traces.matching import TraceKernel, match
from traces.times import TimesError, read_times

CUTLASS = "Kernel2<cutlass_80_tensorop_i16832gemm_s8_128x64_128x3_tn_align4>"


@pytest.fixture(scope="module")
def profiles(shared: Path) -> Path:
    return shared / "reference" / "real" / "profilers"


@pytest.mark.parametrize(
    ("file", "launches", "total_ns", "gpus"),
    [
        ("accelsim-test-algo23-capture.sqlite", 1, 11649, ("NVIDIA B200",)),
        ("accelsim-test-algo23-nsys-cuda_gpu_trace.csv", 1, 11649, ("NVIDIA B200",)),
        ("accelsim-test-algo23-nsys-cuda_gpu_kern_gb_sum.csv", 1, 11649, ()),
        ("accelsim-test-algo23-nsys-kernel_list.csv", 1, 11649, ("NVIDIA B200",)),
        ("accelsim-test-algo23-ncu-raw.csv", 1, 22592, ("NVIDIA B200",)),
        ("accelsim-test-algo23-ncu-details.csv", 1, 22590, ()),
        ("micro-nsight_vectoradd_100_32_metrics_all.csv", 3, 8160, ("NVIDIA GeForce GTX 1080",)),
        ("nvprof-print-gpu-trace-uvm.csv", 655, 22807218, ("TITAN Xp",)),
    ],
)
def test_a_real_profile_has_its_kernels_and_nanoseconds(
    profiles: Path, file: str, launches: int, total_ns: float, gpus: tuple[str, ...]
) -> None:
    found = read_times(profiles / file)
    assert (len(found.launches), found.device_names) == (launches, gpus)
    assert found.total_ns == pytest.approx(total_ns)


@pytest.mark.parametrize(
    "file",
    [
        "accelsim-test-algo23-capture.sqlite",
        "accelsim-test-algo23-nsys-cuda_gpu_trace.csv",
        "accelsim-test-algo23-ncu-raw.csv",
        "accelsim-test-algo23-ncu-details.csv",
    ],
)
def test_one_kernel_is_found_in_the_profiles_of_both_tools(profiles: Path, file: str) -> None:
    kernel = TraceKernel(
        1, f"_ZN7cutlass7Kernel2I{len(CUTLASS) - 9}{CUTLASS[8:-1]}EEvNT_6ParamsE", (128, 1, 1), (128, 1, 1)
    )
    assert match([kernel], read_times(profiles / file)).kernel_of == [1]


def test_a_german_locale_is_read(shared: Path) -> None:
    found = read_times(shared / "reference" / "real" / "excerpts" / "ncu-locale-german.excerpt.csv")
    assert found.launches[0].duration_ns == 117440


@pytest.mark.parametrize(
    ("file", "complaint"),
    [
        ("accelsim-test-algo23-ncu-session.csv", "session page"),
        ("accelsim-test-algo23-ncu-meta.json", "JSON without steps or rows"),
        ("accelsim-test-algo23-nsys-invocation.txt", "no header"),
    ],
)
def test_what_lies_beside_a_profile_is_refused(profiles: Path, file: str, complaint: str) -> None:
    with pytest.raises(TimesError, match=complaint):
        read_times(profiles / file)
