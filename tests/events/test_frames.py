"""What goes over the wire."""

import json

from hypothesis import given
from hypothesis import strategies as st

from runs.events import encode
from runs.stream.frames import encode_frames, frame


def test_a_frame_has_id_type_and_data_and_ends_with_an_empty_line() -> None:
    assert frame(7, "log", '{"offset":0}') == 'id: 7\nevent: log\ndata: {"offset":0}\n\n'


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_no_text_breaks_out_of_its_data_line(text: str) -> None:
    lines = encode_frames([(1, "kernel", encode({"name": text}))]).split(b"\n")
    assert lines[:2] == [b"id: 1", b"event: kernel"]
    assert json.loads(lines[2].removeprefix(b"data: ")) == {"name": text}
    assert lines[3:] == [b"", b""]


def test_many_events_are_encoded_in_order() -> None:
    assert encode_frames([(1, "a", "1"), (2, "b", "2")]) == b"id: 1\nevent: a\ndata: 1\n\nid: 2\nevent: b\ndata: 2\n\n"
