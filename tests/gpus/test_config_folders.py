"""The configs of CASCADE_ACCELSIM_CONFIGS: followed while the files change, and said where they cannot be used."""

import os
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from cascade_site.auth import sign_in_code
from runs.launch import LaunchError, LaunchRequest, launch
from sims.models import GpuConfig
from tests.gpus.test_config_reader import MINIMAL
from tests.pages.conftest import make_trace

pytestmark = pytest.mark.django_db


@pytest.fixture
def folder(tmp_path: Path, settings: Any) -> Path:
    settings.CASCADE_ACCELSIM_CONFIGS = str(tmp_path)
    return tmp_path / "SM86_MINE"


def write(folder: Path, sms: str) -> None:
    """The folder's config, later than the one before, whatever the file system's clock."""
    folder.mkdir(exist_ok=True)
    file = folder / "gpgpusim.config"
    later = file.stat().st_mtime_ns + 10**9 if file.exists() else None
    file.write_text(MINIMAL.replace("-gpgpu_n_clusters 46", f"-gpgpu_n_clusters {sms}"))
    if later:
        os.utime(file, ns=(later, later))


def sms_of_a_launch() -> int:
    run = launch(make_trace(), LaunchRequest(["SM86_MINE"]))
    return int(run.sims.get().config["sms"])


def test_a_launch_takes_the_config_as_its_files_are_now(folder: Path) -> None:
    write(folder, "46")
    GpuConfig.objects.follow_folders()
    write(folder, "60")
    assert sms_of_a_launch() == 60


def test_a_folder_that_has_come_since_is_there(folder: Path) -> None:
    GpuConfig.objects.follow_folders()
    write(folder, "46")
    assert sms_of_a_launch() == 46


def test_a_config_that_cannot_be_read_any_more_is_not_launched(folder: Path) -> None:
    write(folder, "46")
    GpuConfig.objects.follow_folders()
    write(folder, "many")
    with pytest.raises(LaunchError, match=r"The files of GPU config 'SM86_MINE' cannot be used: .*many"):
        sms_of_a_launch()


def test_what_an_operator_has_made_of_it_is_launched_all_the_same(folder: Path) -> None:
    write(folder, "46")
    GpuConfig.objects.follow_folders()
    GpuConfig.objects.update(origin="operator")
    write(folder, "many")
    assert sms_of_a_launch() == 46


@pytest.mark.parametrize("config", [None, "many"])
def test_the_page_says_which_folders_are_left_out(folder: Path, config: str | None) -> None:
    folder.mkdir()
    if config:
        write(folder, config)
    browser = Client()
    browser.get("/sign-in", {"code": sign_in_code()})
    page = browser.get("/gpu-configs").content.decode()
    assert '<span class="mono">SM86_MINE</span>:' in page


def test_a_root_that_is_not_there_is_said(folder: Path, settings: Any) -> None:
    settings.CASCADE_ACCELSIM_CONFIGS = str(folder)
    assert GpuConfig.objects.follow_folders() == {"SM86_MINE": f"{folder} is no folder."}
