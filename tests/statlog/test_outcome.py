"""How a simulation ended: log and exit code judged together."""

import json
from typing import Any

import pytest

from sims.outcome import Outcome, judge
from sims.statlog import LogFacts, StatLog
from tests.conftest import FIXTURES

FAILURES: dict[str, Any] = json.loads((FIXTURES / "statlog" / "failures.json").read_text())
EXPECTED_KERNELS = {"empty_list": 0, "only_memcpy": 0, "twice": 2}


def ending(name: str) -> Outcome:
    """What is said about a failure that was provoked in a real Accel-Sim."""
    case = FAILURES[name]
    log = StatLog()
    log.feed(case["stdout"].encode())
    log.finish()
    return judge(log.facts, case["exit_code"], case["stderr"], kernels_expected=EXPECTED_KERNELS.get(name, 1))


def facts(kernels: int = 0, **others: Any) -> LogFacts:
    return LogFacts(kernels=kernels, **others)


@pytest.mark.parametrize(
    "name",
    [
        "ok",
        "dot_slash",
        "relpath",
        "xz",
        "twice",
        "bar_one_warp",
        "grid_smaller",
        "unknown_cmd",
        "trunc_no_end",
        "empty_list",
    ],
)
def test_a_normal_end_is_finished(name: str) -> None:
    assert (ending(name).state, ending(name).detail) == ("finished", "")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        # exit code 0, and yet nothing was simulated
        (
            "missing_trace",
            "The kernel file /traces/missing_trace/kernel-1.traceg cannot be read: No such file or directory.",
        ),
        ("no_slash", "the -trace path needs a slash"),
        ("empty_trace", "kernel-1.traceg is empty or has no '-binary version' line"),
        ("bad_binver_absent", "has no '-binary version' line"),
        ("bad_binver90", "no opcode table for SASS version 90"),
        # before the first kernel
        ("missing_list", "could not open the kernel list /traces/nonexist/kernelslist.g"),
        ("missing_config", "no config file at /nonexist/gpgpusim.config"),
        ("unknown_option", "does not know the option -no_such_option"),
        ("no_ld_path", "wrong libcudart.so"),
        ("no_args", "is the GPU config complete?"),
        ("memcpy_bad", "has not the three fields"),
        ("leading_space", "ends with a memory copy"),
        ("h100_as_shipped", "set -gpgpu_memory_partition_indexing 0"),
        # in a kernel
        ("unknown_opcode", "does not know the instruction FROBNICATE.X in kernel 1 (vectorAdd)"),
        ("udp_on_volta_cfg", "a functional unit that this GPU config does not have"),
        ("deadlock_no_udp_unit", "a functional unit that this GPU config does not have"),
        ("only_gpgpusim_config", "-specialized_unit and latency lines to trace.config"),
        ("trunc_midline", "kernel-1.traceg is cut in the middle of a line"),
        ("no_final_nl", "is cut in the middle of a line"),
        ("trunc_line", "ends before all its thread blocks"),
        ("trunc_tb", "ends before all its thread blocks"),
        ("trunc_header", "ends before all its thread blocks"),
        ("fewer_warps", "ends before all its thread blocks and warps"),
        ("grid_bigger", "its grid is larger than what was traced"),
        ("xz_trunc", "The compressed kernel file kernel-1.traceg.xz is cut"),
        ("bad_ext", "kernel-1.trace ends neither in .traceg nor in .xz"),
        ("crlf", "Windows line ends"),
        ("five_src", "more source registers"),
        ("two_dst", "more destination registers"),
        ("insts_low", "more instructions than its 'insts =' line says"),
        ("insts_high", "fewer instructions than its 'insts =' line says"),
        ("smem_too_big", "more threads, registers or shared memory than an SM"),
        ("regs_too_big", "more threads, registers or shared memory than an SM"),
        ("block_too_big", "more threads, registers or shared memory than an SM"),
        ("smem_too_big_linebuf", "does not fit an SM of this GPU config"),
        ("regs_too_big_linebuf", "does not fit an SM of this GPU config"),
        ("block_too_big_linebuf", "CTA (block) size is too large"),
        ("deadlock_rop_latency", "-gpgpu_l2_rop_latency 300000 is longer than that check waits"),
        ("deadlock_launch_latency", "-gpgpu_kernel_launch_latency 150000 is longer than that check waits"),
        ("no_exit", "a warp without EXIT"),
        ("one_no_exit", "a warp without EXIT"),
        ("warp_oob", "segmentation fault"),
    ],
)
def test_a_provoked_failure_is_failed_and_says_why(name: str, words: str) -> None:
    outcome = ending(name)
    assert outcome.state == "failed"
    assert words in outcome.detail


@pytest.mark.parametrize("name", ["max_cycle", "max_insn"])
def test_a_run_cut_by_its_limit_is_finished_with_a_warning(name: str) -> None:
    outcome = ending(name)
    assert outcome.state == "finished"
    assert "the last kernel's figures are partial" in outcome.warnings[0]


@pytest.mark.parametrize("name", ["trailing_memcpy", "only_memcpy"])
def test_an_abort_after_the_last_kernel_is_finished_with_a_warning(name: str) -> None:
    outcome = ending(name)
    assert outcome.state == "finished"
    assert "ends with a memory copy" in outcome.warnings[-1]


def test_every_provoked_failure_has_a_test() -> None:
    finished = {name for name in FAILURES if ending(name).state == "finished"}
    assert len(FAILURES) == 56
    assert len(finished) == 14


def test_a_crash_at_teardown_keeps_a_finished_run() -> None:
    outcome = judge(facts(3, exit_detected=True, segfault=True), 139, kernels_expected=3)
    assert outcome.state == "finished"
    assert "After the last kernel the simulator failed" in outcome.warnings[0]


def test_an_end_marker_without_a_kernel_is_failed() -> None:
    outcome = judge(facts(0, exit_detected=True), 0, kernels_expected=3)
    assert outcome == Outcome("failed", "The simulator ended normally, but simulated 0 of 3 kernels.")


def test_all_kernels_without_the_end_marker_are_finished_with_a_warning() -> None:
    outcome = judge(facts(3), 0, kernels_expected=3)
    assert (outcome.state, outcome.warnings) == (
        "finished", ["The log lacks the simulator's end marker; all kernels have results."],
    )  # fmt: skip


def test_some_kernels_without_the_end_marker_are_failed_and_kept() -> None:
    outcome = judge(facts(2), 0, kernels_expected=3)
    assert outcome.detail.startswith("The log breaks off after 2 of 3 kernels, without the simulator's end marker.")
    assert outcome.detail.endswith("The results of 2 kernels are kept.")


def test_kernels_that_got_lost_are_said() -> None:
    outcome = judge(facts(3, exit_detected=True), 0, kernels_expected=4)
    assert outcome.warnings == ["The log has results of 3 kernels, not of the 4 expected."]


def test_harmless_stderr_of_a_good_run_is_ignored() -> None:
    assert judge(
        facts(3, exit_detected=True), 0, "libtinfo.so.6: no version information", kernels_expected=3
    ) == Outcome("finished")


def test_a_cancelled_run_is_cancelled_whatever_its_exit_code() -> None:
    assert judge(facts(2), -15, kernels_expected=3, stopped=True).state == "cancelled"


def test_a_stalled_run_is_failed() -> None:
    outcome = judge(facts(1), -9, kernels_expected=3, stalled_s=600)
    assert outcome.detail.startswith("The simulator was ended as stalled: it had printed nothing for 600 s.")


@pytest.mark.parametrize(
    ("exit_code", "stderr", "words"),
    [
        (-9, "", "most likely the machine ran out of memory"),
        (137, "", "most likely the machine ran out of memory"),
        (-15, "", "ended from outside (SIGTERM)"),
        (127, "sh: accel-sim.out: not found", "was not found: sh: accel-sim.out: not found."),
        (126, "", "may not be executed"),
        (1, "The kernelslist is empty.\n", "exit code 1: The kernelslist is empty."),
        (134, "terminate called\n  what():  std::bad_alloc", "ran out of memory"),
        (3, "\x1b[31mboom", "exit code 3: [31mboom."),
    ],
)
def test_without_a_known_cause_the_exit_code_speaks(exit_code: int, stderr: str, words: str) -> None:
    assert words in judge(facts(), exit_code, stderr, kernels_expected=1).detail


def test_the_built_in_simulators_own_sentence_is_the_detail() -> None:
    outcome = judge(facts(1, own_error="kernel-2.traceg:7 is cut."), 1, "kernel-2.traceg:7 is cut.", kernels_expected=2)
    assert outcome == Outcome("failed", "kernel-2.traceg:7 is cut. The results of 1 kernel are kept.")


def test_without_an_expected_count_a_normal_end_with_kernels_is_finished() -> None:
    assert judge(facts(2, exit_detected=True), 0).state == "finished"
    assert judge(facts(0, exit_detected=True), 0).state == "failed"
