"""The colours of GPU configs: the same on every page, and told apart within a run."""

import pytest
from django.test import Client

from cascade_site.colours import PALETTE, REAL, colour_of, colours_of
from runs.launch import LaunchRequest, launch
from traces.models import Trace


def test_a_config_with_other_values_has_the_colour_of_the_one_it_is_made_from() -> None:
    assert colour_of("SM80_A100 l2_bytes=20971520") == colour_of("SM80_A100")


def test_configs_side_by_side_keep_their_own_colours() -> None:
    configs = ["SM90_H100", "SM86_RTX3070", "SM80_A100"]
    assert colours_of(configs) == [colour_of(config) for config in configs]


def test_variants_of_one_config_are_told_apart() -> None:
    colours = colours_of([f"SM86_RTX3070 sms={sms}" for sms in range(len(PALETTE))])
    assert len(set(colours)) == len(PALETTE)


def test_an_unchanged_config_keeps_its_colour_beside_its_variants() -> None:
    configs = ["SM86_RTX3070 sms=20", "SM86_RTX3070 sms=40", "SM86_RTX3070", "SM80_A100"]
    assert colours_of(configs)[2:] == [colour_of("SM86_RTX3070"), colour_of("SM80_A100")]


def test_more_configs_than_colours_have_one_each_all_the_same() -> None:
    assert set(colours_of([f"config_{n}" for n in range(40)])) == set(PALETTE)


@pytest.mark.parametrize("name", [f"config_{n}" for n in range(30)])
def test_no_config_looks_like_the_real_run(name: str) -> None:
    assert colour_of(name) != REAL


@pytest.mark.parametrize("path", ["/runs", "/runs/{run}", "/runs/{run}/config", "/runs/{run}/kernels", "/sims/{sim}"])
def test_every_page_of_a_sweep_shows_the_same_colours(browser: Client, trace: Trace, path: str) -> None:
    run = launch(trace, LaunchRequest(["SM80_A100"], simulator="replay", sweep={"sms": [20, 40]}))
    last = run.sims.get(position=1)
    page = browser.get(path.format(run=run.id, sim=last.id)).content.decode()
    colour = run.colours[last.gpu_config]
    assert colour != colour_of("SM80_A100")
    assert f'<span class="swatch c{colour}" aria-hidden="true"></span>{last.gpu_config}' in page
