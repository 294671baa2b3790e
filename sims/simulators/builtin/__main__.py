"""``python -m sims.simulators.builtin JOB``: one simulation in a process of its own.

``JOB`` is a JSON file: ``trace_list``, ``spec``, ``kernel_indices`` (empty for all), ``options`` and, if wanted,
``progress_file``. The log goes to standard output, progress as one JSON object a line to the progress file, a failure
as one line to standard error. Exit code: 0 done, 1 failed, 143 ended by SIGTERM.
"""

import sys

from sims.simulators.builtin.child import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
