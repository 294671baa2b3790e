"""The token screen comes first, and lets in who has the token."""

from typing import Any

import pytest
from django.conf import settings
from django.http import HttpResponse
from django.test import Client, RequestFactory

from cascade_site.auth import sign_in_code
from cascade_site.pages import page


@pytest.mark.parametrize("path", ["/", "/traces", "/runs", "/runs/new", "/compare", "/gpu-configs", "/docs"])
def test_it_asks_a_stranger_for_the_token(path: str) -> None:
    answer = Client().get(path)
    assert answer.status_code == 302
    assert answer["Location"].startswith("/sign-in?next=")


def test_it_lets_in_who_enters_the_token_and_goes_on_to_the_page_asked_for() -> None:
    client = Client()
    answer = client.post("/sign-in", {"token": settings.CASCADE_TOKEN, "next": "/traces"})
    assert answer["Location"] == "/traces"
    assert client.get("/traces").status_code == 200


def test_it_refuses_a_wrong_token() -> None:
    answer = Client().post("/sign-in", {"token": "guess"})
    assert answer.status_code == 401
    assert "not the app" in answer.content.decode()


@pytest.mark.parametrize("target", ["https://elsewhere.example/", "//elsewhere.example/", "javascript:alert(1)"])
def test_it_never_sends_anybody_elsewhere(target: str) -> None:
    answer = Client().post("/sign-in", {"token": settings.CASCADE_TOKEN, "next": target})
    assert answer["Location"] == "/"


def test_a_link_from_the_terminal_signs_in_without_the_token() -> None:
    code = sign_in_code()
    assert settings.CASCADE_TOKEN not in code
    assert Client().get("/sign-in", {"code": code}).status_code == 302


def test_a_changed_code_does_not_sign_in() -> None:
    client = Client()
    assert client.get("/sign-in", {"code": sign_in_code() + "x"}).status_code == 200
    assert client.get("/runs").status_code == 302


def test_a_new_token_ends_old_sessions(browser: Client, settings: object) -> None:
    settings.CASCADE_TOKEN = "another"  # type: ignore[attr-defined]
    assert browser.get("/runs").status_code == 302


def test_signing_out_ends_the_session(browser: Client) -> None:
    browser.post("/sign-out")
    assert browser.get("/runs").status_code == 302


def test_no_token_screen_comes_where_no_token_is_needed(settings: object) -> None:
    settings.CASCADE_NO_AUTH = True  # type: ignore[attr-defined]
    assert Client().get("/runs").status_code == 200


def test_the_token_is_in_no_page(browser: Client) -> None:
    assert settings.CASCADE_TOKEN not in browser.get("/runs").content.decode()


def test_a_page_is_given_what_any_database_can_look_for(browser: Client, rf: RequestFactory, settings: Any) -> None:
    settings.CASCADE_NO_AUTH = True
    echo = page()(lambda request, name: HttpResponse(name))
    assert echo(rf.get("/"), name="a\0b").content.decode() == "a\N{REPLACEMENT CHARACTER}b"
