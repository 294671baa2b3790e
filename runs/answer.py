"""The answer of a run in one sentence, which is what people open its page for."""

from collections.abc import Mapping
from typing import Any

from cascade_site.config_label import ConfigLabel
from cascade_site.formats import duration, ratio
from sims.gpus import is_captured_gpu


def answer(
    summary: Mapping[str, Mapping[str, Any]],
    names: Mapping[str, str],
    gpu: str | None,
    real_ns: float | None,
) -> str:
    """One sentence (or two) from a comparison's ``summary`` of the sims that finished; empty without a simulated time.

    :param names: each config's GPU name, by the label that ``summary`` has
    :param gpu: the GPU that the trace was captured on
    :param real_ns: the real time of the trace's kernels
    """
    done = {label: row for label, row in summary.items() if row.get("simulated_ns")}
    if not done:
        return ""
    fastest = min(done, key=lambda label: done[label]["simulated_ns"])
    # With changed values it is another GPU than the one that the real times are of.
    unchanged = (label for label in done if not ConfigLabel.of(label).is_changed)
    captured = next((label for label in unchanged if is_captured_gpu(gpu, names.get(label, ""))), None)
    text = f"{_called(fastest, names)} would take {duration(done[fastest]['simulated_ns'])}"
    compared_ns = done[fastest].get("real_ns")
    if captured and captured != fastest:
        against = _against(done[captured]["simulated_ns"], done[fastest]["simulated_ns"])
        text += f", {against} the {names[captured]} in the same simulation"
    elif compared_ns and captured is None:
        text += f", {_against(compared_ns, done[fastest]['simulated_ns'])} the {gpu or 'GPU'} it was captured on"
    text += "."
    if captured and (error := done[captured].get("error")) is not None:
        side = "slow" if error > 0 else "fast"
        text += f" Simulated against real on the {names[captured]}: {abs(error) * 100:.1f} % too {side}."
    elif not real_ns:
        text += " No real times are known for this trace, so nothing says how far off that is."
    return text


def _called(label: str, names: Mapping[str, str]) -> str:
    """``GeForce RTX 3070 with sms=20``."""
    changes = ConfigLabel.of(label).changes
    name = names.get(label)
    return f"{name} with {changes}" if name and changes else name or label


def _against(reference_ns: float, predicted_ns: float) -> str:
    if predicted_ns <= reference_ns:
        return f"{ratio(reference_ns / predicted_ns)} faster than"
    return f"{ratio(predicted_ns / reference_ns)} slower than"
