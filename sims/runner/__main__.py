"""``python -m sims.runner ASSIGNMENT``: does one simulation and reports it over HTTP.

A Celery task starts it with ``--task`` and holds its stdin and stdout (``line``). Started by hand it needs only the
file, and the app's token in CASCADE_TOKEN.
"""

import argparse
import contextlib
import logging
import os
import signal
import sys
from pathlib import Path
from types import FrameType

from sims.runner.assignment import Assignment
from sims.runner.line import TaskLine
from sims.runner.processes import adopt_orphans
from sims.runner.session import Session


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m sims.runner", description="Do one simulation and report it.")
    parser.add_argument("assignment", type=Path, help="a JSON file, see sims/runner/assignment.py")
    parser.add_argument("--task", action="store_true", help="a Celery task listens on stdin and stdout")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    adopt_orphans()
    line = TaskLine(attached=arguments.task)
    # Taken out of the environment, so that nothing started from here inherits it.
    session = Session(Assignment.read(arguments.assignment), os.environ.pop("CASCADE_TOKEN", ""), line)

    def leave(signum: int, frame: FrameType | None) -> None:
        session.leave()

    for signum in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(signum, leave)
    ending = session.run()
    with contextlib.suppress(OSError):
        line.end(ending)
    if not arguments.task and ending.detail:
        print(ending.detail, file=sys.stderr)
    return 0 if ending.reported else 1


if __name__ == "__main__":
    sys.exit(main())
