"""Units done of all that are wanted, in a file that the runner reads."""

import json

from geobench import progress, records
from geobench.progress import Progress, read


def test_the_file_holds_the_sums_over_what_is_expected(tmp_path):
    file = tmp_path / "units"
    made = Progress(file)
    assert read(file) == {"done": 0, "all": 0}
    made.reached("other", 9)  # nobody expects it
    assert not file.exists()
    made.expect({"a": 3, tmp_path / "b": 2})
    assert read(file) == {"done": 0, "all": 5}
    made.reached("a", 3)
    made.reached(tmp_path / "b", 5)  # more than are wanted: units of an older call
    assert made.state() == {"done": 5, "all": 5}
    made.expect({"a": 4})
    assert json.loads(file.read_text()) == {"done": 5, "all": 6}


def test_a_loop_is_a_part_of_its_own_and_a_damaged_file_says_nothing(tmp_path):
    made = Progress(tmp_path / "units")
    first, second = made.loop(2), made.loop(1)
    first()
    second()
    assert made.state() == {"done": 2, "all": 3}
    (tmp_path / "units").write_text("{")
    assert read(tmp_path / "units") == {"done": 0, "all": 0}


def test_without_a_file_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = Progress(None)
    made.expect({"a": 1})
    made.reached("a", 1)
    assert not [*tmp_path.iterdir()]


def test_records_say_what_they_found_and_what_comes(tmp_path, monkeypatch):
    made = Progress(tmp_path / "units")
    monkeypatch.setattr(records, "reached", made.reached)
    file = tmp_path / "r.jsonl"
    made.expect({file: 3})
    for n in range(2):
        with records.Records(file, {}, ("n",)) as book:
            assert made.state()["done"] == n
            book.append({"n": n})
    assert made.state() == {"done": 2, "all": 3} and progress.CURRENT.file is None
