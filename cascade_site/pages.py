"""Pages of no app in particular: sign-in, the front door, the docs. And the gate that all pages stand behind."""

from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from cascade_site.auth import session_is_signed_in, sign_in, sign_in_code_is_valid, sign_out, token_matches
from cascade_site.fields import storable_text
from cascade_site.throttle import wrong_tokens

Page = Callable[..., HttpResponse]


def page(*methods: str) -> Callable[[Page], Page]:
    """A page for whoever has signed in; others see the token screen first and come back after it.

    The texts of its path come to it as any database can look for them.
    """

    def decorate(view: Page) -> Page:
        @never_cache
        @require_http_methods(list(methods) or ["GET", "HEAD"])
        @wraps(view)
        def gate(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if not settings.CASCADE_NO_AUTH and not session_is_signed_in(request.session):
                return redirect("/sign-in?" + urlencode({"next": request.get_full_path()}))
            known = {name: storable_text(value) if isinstance(value, str) else value for name, value in kwargs.items()}
            return view(request, *args, **known)

        return gate

    return decorate


def _next(request: HttpRequest) -> str:
    """Where to go after signing in: only ever a path of this app."""
    target = request.POST.get("next") or request.GET.get("next") or "/"
    return target if url_has_allowed_host_and_scheme(target, allowed_hosts=None) and target.startswith("/") else "/"


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in_page(request: HttpRequest) -> HttpResponse:
    """The token screen; a link with a ``code`` that ``manage.py up`` printed opens the session directly."""
    if settings.CASCADE_NO_AUTH:
        return redirect(_next(request))
    if request.method == "POST":
        return _enter(request)
    if sign_in_code_is_valid(request.GET.get("code", "")):
        sign_in(request)
        return redirect(_next(request))
    problem = "The link has expired or was made with another token." if "code" in request.GET else ""
    return render(request, "sign_in.html", {"next": _next(request), "problem": problem})


def _enter(request: HttpRequest) -> HttpResponse:
    client = request.META.get("REMOTE_ADDR", "")
    if wrong_tokens.is_spent(client):
        problem = "Too many wrong tokens came from your address. Wait a minute, then try again."
        return render(request, "sign_in.html", {"next": _next(request), "problem": problem}, status=429)
    if token_matches(request.POST.get("token", "").strip()):
        sign_in(request)
        return HttpResponseRedirect(_next(request))
    wrong_tokens.spend(client)
    problem = "That is not the app's token."
    return render(request, "sign_in.html", {"next": _next(request), "problem": problem}, status=401)


@require_POST
def sign_out_page(request: HttpRequest) -> HttpResponse:
    sign_out(request)
    return redirect("/sign-in")


@page()
def home(request: HttpRequest) -> HttpResponse:
    return redirect("/runs")


@page()
def docs(request: HttpRequest) -> HttpResponse:
    """What a newcomer reads first."""
    return render(request, "docs/index.html", {"section": "docs"})
