"""Secrets never reach a log, however they are cut."""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from sims.runner.redaction import MASK, Redactor
from tests.runner.app import TOKEN, App
from tests.runner.conftest import RunnerStarter

SECRETS = ["aaaabaaaab", "aaaabaaaabaaaac", "s3cr3t-t0k3n"]


def redacted(pieces: list[bytes]) -> bytes:
    redactor = Redactor(SECRETS)
    return b"".join(redactor.feed(piece) for piece in pieces) + redactor.finish()


TEXTS = st.lists(st.sampled_from([*(secret.encode() for secret in SECRETS), b"a", b"aaaab", b"x", b"\n", b"s3c"]))


@settings(max_examples=300)
@given(TEXTS, st.lists(st.integers(0, 200)))
def test_no_secret_comes_through_whole(parts: list[bytes], cuts: list[int]) -> None:
    text = b"".join(parts)
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    output = redacted([text[begin:end] for begin, end in pairwise(places)])
    assert not any(secret.encode() in output for secret in SECRETS)


@given(st.lists(st.binary(max_size=30)))
def test_what_is_no_secret_passes_unchanged(pieces: list[bytes]) -> None:
    assert redacted(pieces) == b"".join(pieces)


def test_a_secret_is_masked_across_pieces() -> None:
    assert redacted([b"the token is s3cr", b"3t-t0k3n.\n"]) == b"the token is " + MASK + b".\n"


def test_an_end_that_only_began_like_a_secret_is_kept() -> None:
    assert redacted([b"the end: s3cr"]) == b"the end: s3cr"


def test_a_token_that_a_simulator_prints_is_not_in_the_log(app: App, runner: RunnerStarter) -> None:
    runner.run(f"printf '{TOKEN[:7]}'; sleep 1; echo '{TOKEN[7:]} is it'; echo '{TOKEN}' >&2")
    assert app.log == MASK + b" is it\n"
    assert app.files["stderr.txt"] == MASK + b"\n"
