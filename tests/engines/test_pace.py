import pytest

from geobench.engines.pace import LONGEST, Pace, seconds


@pytest.mark.parametrize("text, want", [
    ("20ms", 0.02), ("1.5s", 1.5), ("6m0s", 360), ("1h2m3s", 3723), ("7", 7), ("0.5", 0.5),
    ("5 s", 5), (None, None), ("", None), ("soon", None), ("Wed, 21 Oct 2026 07:28:00 GMT", None),
])  # fmt: skip
def test_seconds_of_a_header(text, want):
    assert seconds(text) == (pytest.approx(want) if want else want)


@pytest.fixture
def pace():
    slept = []
    made = Pace(clock=lambda: 100.0, sleep=slept.append)
    made.slept = slept
    return made


@pytest.mark.parametrize("status, headers, want", [
    (200, {}, []),
    (200, {"x-ratelimit-remaining-requests": "3", "x-ratelimit-reset-requests": "9s"}, []),
    (200, {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "9s"}, [9.0]),
    (200, {"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "250ms", "retry-after": "40"}, [0.25]),
    (429, {"retry-after": "4"}, [4.0]),
    (429, {"retry-after": "9999"}, [LONGEST]),
    (500, {"retry-after": "4"}, []),
])  # fmt: skip
def test_all_wait_for_what_a_header_says(pace, status, headers, want):
    pace.note(status, headers)
    pace.wait()
    assert pace.slept == pytest.approx(want)


def test_the_longest_wait_holds(pace):
    pace.note(429, {"retry-after": "30"})
    pace.note(429, {"retry-after": "2"})
    pace.wait()
    assert pace.slept == [30.0]
