"""What every test may ask for."""

import os
import signal
import tempfile
from pathlib import Path

import django
import pytest

# Before Django reads its settings: no test writes into a developer's data, and none inherits their environment. (The settings
# module is named here and not in pyproject.toml because pytest-django would load it from there before this file runs.)
for _name in [name for name in os.environ if name.startswith(("CASCADE_", "AWS_")) and name != "CASCADE_SHARED"]:
    del os.environ[_name]
for _name in ("DATABASE_URL", "REDIS_URL"):
    os.environ.pop(_name, None)
os.environ["CASCADE_DATA"] = tempfile.mkdtemp(prefix="cascade-tests-")
os.environ["CASCADE_TOKEN"] = "test-token-of-this-session"
# A shell's background job ignores Ctrl-C, and so would every process that a test starts and then wants to end with it.
signal.signal(signal.SIGINT, signal.default_int_handler)
os.environ["DJANGO_SETTINGS_MODULE"] = "cascade_site.settings"
django.setup()

PROJECT = Path(__file__).resolve().parent.parent
FIXTURES = PROJECT / "tests" / "fixtures"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference material that lies beside a developer's checkout; tests over it are extra."""
    folder = Path(os.environ.get("CASCADE_SHARED", PROJECT.parent / "shared"))
    if not (folder / "reference").is_dir():
        pytest.skip("the reference material is not on this machine")
    return folder
