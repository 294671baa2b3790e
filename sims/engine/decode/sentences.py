"""One clear sentence for everything the scanner can refuse."""

import numpy as np

from sims.engine.decode import layout as lay

_SENTENCES = {
    lay.STATUS_NEED_DATA: "the file ends inside warp {warp} of a thread block; it was cut, copy or trace it again",
    lay.ERROR_NESTED_CTA: "#BEGIN_TB inside a thread block: an #END_TB is missing before this line",
    lay.ERROR_LINE_OUTSIDE_CTA: "this line stands outside of #BEGIN_TB and #END_TB",
    lay.ERROR_LINE_OUTSIDE_WARP: "this line belongs to no warp; either 'insts =' is too small or the text is damaged",
    lay.ERROR_WARP_NUMBER: "'warp =' without a number",
    lay.ERROR_WARP_RANGE: "warp {detail} in a thread block of {warps} warps; '-block dim' and the body disagree",
    lay.ERROR_WARP_TWICE: "warp {detail} stands twice in one thread block",
    lay.ERROR_WARP_MISSING: "the thread block ends without any line of warp {detail}; every warp must be in the trace",
    lay.ERROR_WARP_COUNT: "'insts = <number>' is missing or wrong for warp {warp}",
    lay.ERROR_TOO_FEW_LINES: "warp {warp} has {left} instruction lines fewer than its 'insts =' says",
    lay.ERROR_NO_EXIT: "warp {warp} ends without EXIT for lanes {live:08x}; the trace of this warp is not complete",
    lay.ERROR_PC: "the line does not begin with a hexadecimal PC; is it of the tracer version that the header says?",
    lay.ERROR_MASK: "the lane mask is not a hexadecimal number of at most 32 bits",
    lay.ERROR_MODE: "the address format is none of 0 (list), 1 (base and stride), 2 (base and deltas)",
    lay.ERROR_ADDRESS: "the address part is damaged or has fewer addresses than active lanes",
    lay.ERROR_TMA: "the fields of this bulk copy are damaged",
}


def sentence(status: int, state: np.void) -> str:
    """The message for a scanner status, with the numbers the state holds."""
    return _SENTENCES[status].format(
        warp=state["warp"],
        warps=state["warps_per_cta"],
        left=state["left"],
        live=int(state["live"]) & 0xFFFFFFFF,
        detail=state["detail"],
    )
