"""``python -m sims.simulators.builtin JOB``: one simulation in a process of its own.

``JOB`` is a JSON file: ``trace_list``, ``spec``, ``kernel_indices`` (empty for all), ``options`` and, if wanted,
``progress_file``. The log goes to standard output, progress as one JSON object a line to the progress file, a failure
as one line to standard error. Exit code: 0 done, 1 failed, 143 ended by SIGTERM.
"""

import signal
import sys


def run() -> int:
    """Block SIGTERM, then start: threads of numerical libraries, made by importing them, inherit what is blocked."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    from sims.simulators.builtin.child import main

    return main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(run())
