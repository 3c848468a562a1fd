"""What a person sees of running notebooks, with a clock of the test's own."""

import io

from geobench.shown import EVERY, Bars, Line, Lines, shown

NONE = {"done": 0, "all": 0}


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_a_line_has_units_cells_seconds_and_the_time_left():
    clock = Clock()
    line = Line("05_ranking", clock)
    assert str(line) == "05_ranking: 0 s"
    assert line.update({"done": 40, "all": 100}, {"done": 2, "all": 9}) and not line.update({"done": 40, "all": 100}, {"done": 2, "all": 9})
    clock.now = 10.0
    assert str(line) == "05_ranking: 40 of 100 units, cell 2 of 9, 10 s"  # what an earlier call made says nothing of the speed
    line.update({"done": 60, "all": 100}, {"done": 2, "all": 9})
    assert str(line) == "05_ranking: 60 of 100 units, cell 2 of 9, 10 s, about 20 s left"
    line.update({"done": 100, "all": 100}, {"done": 8, "all": 9})
    assert line.left() is None


def test_lines_come_now_and_then_and_only_where_something_changed():
    clock, said = Clock(), []
    lines = Lines(said.append, clock)
    lines.start("a")
    lines.update("a", {"done": 1, "all": 2}, NONE)
    assert said == []
    clock.now = EVERY
    lines.update("a", {"done": 1, "all": 2}, NONE)
    clock.now = 2 * EVERY
    lines.update("a", {"done": 1, "all": 2}, NONE)
    assert said == [f"  a: 1 of 2 units, {EVERY:.0f} s"]
    lines.end("a")
    lines.close()


def test_bars_on_a_terminal(capsys):
    clock, stream = Clock(), io.StringIO()
    bars = Bars(stream, clock)
    bars.start("a")
    bars.start("b")
    clock.now = 5.0
    bars.update("a", {"done": 1, "all": 4}, {"done": 1, "all": 2})
    bars.update("b", NONE, {"done": 1, "all": 2})
    bars.say("a: ran")
    bars.end("a")
    bars.close()
    assert "a |" in stream.getvalue() and "1 of 4 units, cell 1 of 2, 5 s" in stream.getvalue()
    assert capsys.readouterr().out == "a: ran\n"


def test_lines_where_there_is_no_terminal():
    assert isinstance(shown(print), Lines) and isinstance(shown([].append), Lines)
