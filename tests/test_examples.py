"""The examples in docstrings, which nobody would otherwise notice to be wrong."""

import doctest
from importlib import import_module

import pytest

from tests.conftest import PROJECT

APPS = ("cascade_site", "traces", "runs", "sims")


def modules_with_examples() -> list[str]:
    files = (file for app in APPS for file in sorted((PROJECT / app).rglob("*.py")) if ">>> " in file.read_text())
    return [".".join(file.relative_to(PROJECT).with_suffix("").parts) for file in files]


@pytest.mark.parametrize("name", modules_with_examples())
def test_examples_give_what_they_say(name: str) -> None:
    found = doctest.testmod(import_module(name))
    assert found.attempted
    assert not found.failed
