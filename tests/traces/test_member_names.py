"""Names of archive members: 5,000 hostile ones and the named cases of published holes."""

import posixpath
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from traces.accelsim import TraceError
from traces.member_names import MemberNames

ESCAPES = [
    "../run.json",
    "a/../../run.json",
    "a/..",
    "/etc/passwd",
    "//etc/passwd",
    "\\\\host\\share\\file",
    "..\\run.json",
    "a\\..\\..\\run.json",
    "C:/run.json",
    "c:run.json",
    "\u2025/run.json",  # two dot leader
    "\uff0e\uff0e/run.json",  # full-width stops
    "..\uff0frun.json",  # full-width slash
    "a\uff3c..\uff3crun.json",  # full-width backslash
]


def accept(name: str) -> str:
    return MemberNames("trace.tar").accept_file(name)


@pytest.mark.parametrize(
    ("name", "clean"),
    [
        ("run.json", "run.json"),
        ("./run.json", "run.json"),
        ("top/traced/traces/kernel-1-ctx_0x35fc7de0.tracez", "top/traced/traces/kernel-1-ctx_0x35fc7de0.tracez"),
        ("top//run.json", "top/run.json"),
        ("notes (1) \u00e4\u00f6.txt", "notes (1) \u00e4\u00f6.txt"),
        (".hidden", ".hidden"),
        ("%2e%2e/run.json", "%2e%2e/run.json"),  # nobody decodes names: this is a plain, if odd, folder
    ],
)
def test_it_accepts_relative_names(name: str, clean: str) -> None:
    assert accept(name) == clean


@pytest.mark.parametrize("name", ESCAPES)
def test_it_refuses_names_that_point_outside(name: str) -> None:
    with pytest.raises(TraceError, match="points outside the archive"):
        accept(name)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("run.json\0.txt", "control character"),
        ("a\nb", "control character"),
        ("a\u202etxt.exe", "control character"),
        ("bad\udcff", "not valid UTF-8"),
        ("", "has no name"),
        (".", "has no name"),
        ("a/" * 600 + "b", "more than 1024 characters"),
        ("x" * 300, "more than 255 bytes"),
        ("\u00e4" * 130, "more than 255 bytes"),
        ("nul", "some systems reserve"),
        ("a/COM1.txt", "some systems reserve"),
        ("a/run.json.", "some systems reserve"),
        ("a /run.json", "some systems reserve"),
        ("inner.zip", "an archive in an archive"),
        ("deep/inner.tar.zst", "an archive in an archive"),
    ],
)
def test_it_refuses_other_names_with_the_reason(name: str, message: str) -> None:
    with pytest.raises(TraceError, match=message):
        accept(name)


@pytest.mark.parametrize("second", ["run.json", "RUN.JSON", "./run.json", "\uff52un.json"])
def test_it_refuses_a_name_that_comes_twice_on_any_system(second: str) -> None:
    names = MemberNames("trace.tar")
    names.accept_file("run.json")
    with pytest.raises(TraceError, match="comes twice"):
        names.accept_file(second)


@pytest.mark.parametrize(("first", "second"), [("a/b", "a"), ("a", "a/b"), ("A", "a/b/c")])
def test_it_refuses_a_file_that_is_a_folder_too(first: str, second: str) -> None:
    names = MemberNames("trace.tar")
    names.accept_file(first)
    with pytest.raises(TraceError, match="a file and a folder at once"):
        names.accept_file(second)


@pytest.mark.parametrize("name", ["../", "/", "/etc/", "a/../"])
def test_it_refuses_folders_that_point_outside(name: str) -> None:
    with pytest.raises(TraceError, match="points outside"):
        MemberNames("trace.tar").accept_folder(name)


@pytest.mark.parametrize("name", ["./", "top/", "top/traced"])
def test_it_accepts_folders(name: str) -> None:
    MemberNames("trace.tar").accept_folder(name)


def test_the_error_shows_the_name_without_its_control_characters() -> None:
    with pytest.raises(TraceError) as caught:
        accept("../\x1b[31m\u202e")
    assert str(caught.value).isascii()


PIECES = st.sampled_from(
    [
        "..",
        ".",
        "/",
        "\\",
        "//",
        "%2e",
        "%252e",
        "\0",
        ";",
        "#",
        "?",
        "a",
        "run.json",
        "C:",
        "~",
        "\u2025",
        "\uff0e",
        " ",
    ]
)
NAMES = st.lists(PIECES, min_size=1, max_size=8).map("".join) | st.text(max_size=60)


@given(NAMES)
@example("\u2024\u2024/x")
@settings(max_examples=5000, deadline=None)
def test_no_accepted_name_leaves_its_folder(name: str) -> None:
    try:
        clean = accept(name)
    except TraceError:
        return
    for form in (clean, unicodedata.normalize("NFKC", clean)):
        assert posixpath.normpath(posixpath.join("/root", form)).startswith("/root/")
        assert form.isprintable()
        assert "\\" not in form
