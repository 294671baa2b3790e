"""How simulators end, as a runner reports it: log and exit code together."""

import pytest

from tests.runner.app import App
from tests.runner.conftest import RunnerStarter

KERNEL = r"""
echo 'launching kernel name: _Z1kv uid: 1 cuda_stream_id: 0'
printf 'kernel_name = _Z1kv \nkernel_launch_uid = 1 \nkernel_stream_id = 0\n'
printf 'gpu_sim_cycle = 6000\ngpu_sim_insn = 1000\ngpu_ipc = 0.1\ngpu_tot_sim_cycle = 6000\n'
echo 'gpgpu_silicon_slowdown = 1x'
"""
EXIT = "echo 'GPGPU-Sim: *** simulation thread exiting ***'; echo 'GPGPU-Sim: *** exit detected ***'"


def test_all_kernels_and_the_exit_marker_are_a_finish(app: App, runner: RunnerStarter) -> None:
    runner.run(KERNEL + EXIT, kernels_total=1)
    assert app.end is not None
    assert (app.end["state"], app.end["kernels_done"], app.end["detail"]) == ("finished", 1, "")


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (
            "echo 'unsupported binary version: 0'; echo 'cat: /x/kernel-1.traceg: No such file or directory' >&2",
            "kernel-1",
        ),
        ("echo 'GPGPU-Sim ** ERROR: Unknown Option: '\"'-gpgpu_wings'\" >&2; exit 1", "gpgpu_wings"),
        ("echo 'accel-sim.out: symbol lookup error: undefined symbol: _ZTI10shd_warp_t' >&2; exit 127", "symbol"),
        ("echo 'ERROR:  undefined instruction : FROBNICATE.X Opcode: FROBNICATE'; kill -ABRT $$", "FROBNICATE"),
        ("kill -SEGV $$", "SIGSEGV|segmentation|crash"),
        ("exit 0", "kernel"),
    ],
)
def test_a_failure_says_what_a_person_can_act_on(app: App, runner: RunnerStarter, script: str, words: str) -> None:
    runner.run(script, kernels_total=1)
    assert app.end is not None
    assert app.end["state"] == "failed"
    assert matches(words, app.end["detail"])


def matches(words: str, text: str) -> bool:
    return any(word.lower() in text.lower() for word in words.split("|"))


def test_kernels_before_a_crash_stay_in_the_log(app: App, runner: RunnerStarter) -> None:
    runner.run(KERNEL + "kill -ABRT $$", kernels_total=2)
    assert app.end is not None
    assert (app.end["state"], app.end["kernels_done"]) == ("failed", 1)
    assert b"gpu_sim_cycle = 6000" in app.log


def test_a_crash_after_the_last_kernel_is_a_finish_with_a_warning(app: App, runner: RunnerStarter) -> None:
    runner.run(KERNEL + "kill -ABRT $$", kernels_total=1)
    assert app.end is not None
    assert app.end["state"] == "finished"
    assert "the simulator failed" in app.end["detail"]
