"""No name leads anywhere but to the row of that name."""

from typing import Any
from urllib.parse import quote

import pytest
from django.core.files.storage import default_storage
from django.test import Client
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from cascade_site.errors import Unprocessable
from sims.models import Sim, SimFile
from sims.uploads import checked_name
from tests.thoroughness import examples

ALPHABET = st.sampled_from([*"ab.-_/\\%2eE0:;#?&~$ \t\n\0\x7f'\"<>*|", "․", "／", "ａ", "é", "\u202e"])
NAMES = st.one_of(
    st.lists(st.sampled_from(["..", "/", "%2e", "\\", "a", ".", "etc"]), max_size=6).map("".join),
    st.text(ALPHABET, max_size=30),
    st.text(max_size=30),
    st.from_regex(r"\.{0,3}[a-z./\\%]{0,12}"),
)
KNOWN_ATTACKS = [
    "..", "../x", "..\\x", "%2e%2e", "%252e%252e%252fx", "a/../../etc/passwd", "/etc/passwd", "//proc/self/root", "a;b",
    "a#b", "a?b", "a\0.txt", "․․", "..%2f", "C:\\x", "\\\\host\\x", ".hidden", "CON\n", "a" * 4096, " a", "a ",
    "ａ.txt", "file://x", "~root", "-rf/", "$(id)", "a\u202egpj",
]  # fmt: skip


@settings(max_examples=examples(1000, 5000), deadline=None, database=None)
@given(name=NAMES)
def test_a_name_is_one_plain_segment_or_refused(name: str) -> None:
    try:
        accepted = checked_name(name)
    except Unprocessable:
        return
    assert accepted == name
    assert name.isascii()
    assert not set(name) - set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")
    assert not name.startswith(".")
    assert 1 <= len(name) <= 200


@pytest.mark.parametrize("name", KNOWN_ATTACKS)
@pytest.mark.parametrize("method", ["get", "put"])
def test_known_attacks_are_refused(api: Client, sim: Sim, name: str, method: str) -> None:
    answer = getattr(api, method)(f"/api/sims/{sim.id}/files/{quote(name, safe='')}")
    assert answer.status_code in (404, 422)
    assert not SimFile.objects.exists()


@settings(max_examples=examples(300, 5000), deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(name=NAMES, data=st.binary(max_size=8))
@example(name="a", data=b"x")
def test_what_is_stored_lies_under_the_sims_own_folder(api: Client, sim: Sim, name: str, data: bytes) -> None:
    path = f"/api/sims/{sim.id}/files/{quote(name, safe='')}"
    answer = api.put(path, data, content_type="application/octet-stream")
    assert answer.status_code in (200, 201, 404, 405, 422)
    if answer.status_code in (200, 201):
        assert answer.json()["name"] == name
        assert SimFile.objects.get(sim=sim, name=name).key.startswith(f"sims/{sim.id}/files/")
    assert api.get(path).status_code in (200, 404, 422)
    folders: Any = default_storage.listdir("")[0]
    assert set(folders) <= {"sims", "traces"}
