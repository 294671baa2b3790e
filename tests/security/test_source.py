"""What the app's own code never does, held by reading it."""

import re
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
APPS = ("cascade_site", "runs", "sims", "traces")
SOURCES = [path for app in APPS for path in (PROJECT / app).rglob("*.py") if "migrations" not in path.parts]
TEMPLATES = [*(PROJECT / "templates").rglob("*.html"), *(PROJECT / "templates").rglob("*.txt")]

FORBIDDEN = {
    "pickle": r"\bc?[Pp]ickle\b(?!\))",
    "eval": r"(?<![\w.])eval\(",
    "exec": r"(?<![\w.])exec\(",
    "yaml.load": r"\byaml\.load\b",
    "shell=True": r"shell\s*=\s*True",
    "os.system": r"\bos\.(system|popen)\(",
    "extractall": r"\.extract(all)?\(",
    "mark_safe": r"\bmark_safe\b",
    "allow_pickle": r"allow_pickle\s*=\s*True",
    "csrf_exempt page": r"@csrf_exempt",
}


def code_of(path: Path) -> str:
    """A file's text without comments and docstrings, which may speak of what the code does not do."""
    text = path.read_text(encoding="utf-8")
    text = re.sub(r'"""(?:.|\n)*?"""', '""', text)
    return re.sub(r"(?m)(^|\s)#.*$", "", text)


@pytest.mark.parametrize("what", FORBIDDEN)
def test_the_code_does_not_use(what: str) -> None:
    found = [str(path.relative_to(PROJECT)) for path in SOURCES if re.search(FORBIDDEN[what], code_of(path))]
    assert found == []


def test_no_template_switches_escaping_off() -> None:
    found = [path.name for path in TEMPLATES if re.search(r"\|\s*safe\b|autoescape\s+off", path.read_text())]
    assert found == []


def test_no_code_opens_an_address_that_a_user_gave() -> None:
    clients = re.compile(r"(?m)^\s*(?:import|from) (?:httpx|requests|urllib\.request|aiohttp)\b")
    found = {path.relative_to(PROJECT).parts[:2] for path in SOURCES if clients.search(code_of(path))}
    # The runner talks to the app it was started by; `up` and `capture_examples` to the app they started.
    assert found <= {("sims", "runner"), ("cascade_site", "management")}
