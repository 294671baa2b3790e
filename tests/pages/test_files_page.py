"""The files tab: what can be looked at, and everything in one zip."""

import io
import zipfile
from typing import Any

import pytest
from django.test import Client

from cascade_site.formats import when
from runs.models import Run
from sims.models import Sim, SimFile
from sims.uploads import MeasuredStream, store_file
from tests.api.conftest import body_of


@pytest.fixture
def sim(run: Run) -> Sim:
    return run.sims.order_by("position")[0]


def store(sim: Sim, name: str, data: bytes, content_type: str = "application/octet-stream") -> SimFile:
    body = MeasuredStream(io.BytesIO(data), len(data) + 1)
    file, _ = store_file(sim, name, body, content_type=content_type, sha256=None, attempt=None)
    return file


def preview(browser: Client, file: SimFile) -> Any:
    """What the page shows of a file."""
    answer = browser.get(f"/runs/{file.sim.run_id}/files", {"preview": f"{file.sim_id}/{file.name}"})
    assert answer.status_code == 200
    return answer.context["preview"]


def test_a_file_says_when_it_came(browser: Client, sim: Sim) -> None:
    file = store(sim, "a.txt", b"x")
    assert when(file.uploaded_at) in browser.get(f"/runs/{sim.run_id}/files").content.decode()


def test_json_is_shown_with_its_structure(browser: Client, sim: Sim) -> None:
    assert preview(browser, store(sim, "a.json", b'{"cycles":[1,2]}')).text.splitlines()[1] == '  "cycles": ['


def test_csv_is_shown_as_a_table(browser: Client, sim: Sim) -> None:
    assert preview(browser, store(sim, "a.csv", b'name,cycles\n"a,b",7\n')).rows == [["name", "cycles"], ["a,b", "7"]]


@pytest.mark.parametrize(
    ("name", "content_type"), [("gpgpusim.config", "application/octet-stream"), ("notes", "text/plain")]
)
def test_text_is_shown_as_it_is(browser: Client, sim: Sim, name: str, content_type: str) -> None:
    assert preview(browser, store(sim, name, b"<b>7</b>\n", content_type)).text == "<b>7</b>\n"


@pytest.mark.parametrize(
    ("name", "data", "note"),
    [
        ("a.bin", b"abc", "no text"),
        ("a.txt", b"\xff\xfe", "not UTF-8"),
        ("a.txt", b"x" * (1024**2 + 1), "too long"),
    ],
)
def test_what_cannot_be_shown_says_why(browser: Client, sim: Sim, name: str, data: bytes, note: str) -> None:
    shown = preview(browser, store(sim, name, data))
    assert note in shown.note
    assert not shown.text


def test_json_that_is_none_is_shown_as_text(browser: Client, sim: Sim) -> None:
    assert preview(browser, store(sim, "a.json", b"[" * 100_000)).text == "[" * 100_000


def test_a_file_of_another_run_is_not_found(browser: Client, sim: Sim) -> None:
    answer = browser.get(f"/runs/{sim.run_id}/files", {"preview": "sim-000000000000/a.txt"})
    assert answer.status_code == 404


def zipped(browser: Client, run: Run) -> Any:
    return browser.get(f"/api/runs/{run.id}/files", {"format": "zip"})


def test_the_zip_has_every_sims_files_in_a_folder_of_its_own(browser: Client, run: Run) -> None:
    for sim in run.sims.all():
        store(sim, "stats.txt", sim.gpu_config.encode() * 100_000)
    answer = zipped(browser, run)
    assert answer["Content-Type"] == "application/zip"
    assert f'filename="{run.id}-files.zip"' in answer["Content-Disposition"]
    archive = zipfile.ZipFile(io.BytesIO(body_of(answer)))
    assert archive.testzip() is None
    assert archive.namelist() == ["1-SM86_RTX3070/stats.txt", "2-SM80_A100/stats.txt"]
    assert archive.read("2-SM80_A100/stats.txt") == b"SM80_A100" * 100_000


def test_a_configs_label_never_leaves_its_folder(browser: Client, sim: Sim) -> None:
    Sim.objects.filter(pk=sim.pk).update(gpu_config="../../a b=\\c")
    store(Sim.objects.get(pk=sim.pk), "x", b"1")
    assert zipfile.ZipFile(io.BytesIO(body_of(zipped(browser, sim.run)))).namelist() == ["1-a-b-c/x"]


def test_more_than_the_limit_is_refused_with_the_limit(
    browser: Client, sim: Sim, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runs.filezip.MAX_ZIP_BYTES", 10)
    store(sim, "x", b"12345678901")
    answer = zipped(browser, sim.run)
    assert answer.status_code == 409
    assert "at most 10 B" in answer.json()["detail"]


def test_another_format_is_refused(browser: Client, run: Run) -> None:
    assert browser.get(f"/api/runs/{run.id}/files", {"format": "rar"}).status_code == 422
