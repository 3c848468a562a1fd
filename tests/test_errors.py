from geobench.errors import GeoBenchError, came, nearest, printable


def test_came_is_one_short_line():
    assert came("a\n  b") == "'a b'"
    assert came("x" * 300) == repr("x" * 200 + "...")
    assert came(None) == "'None'" and came("x\0\x1b[31m") == r"'x\x00\x1b[31m'"


def test_what_python_cannot_write_is_still_named():
    assert came(2**100_000) == "'a int too large to be shown'" and came([2**100_000]) == "'a list too large to be shown'"


def test_nearest_names_one_or_all():
    assert nearest("order", ["orders", "seed"]) == " Did you mean `orders`?"
    assert nearest("qqq", ["b", "a"]) == " Known: a, b."
    assert nearest(5, [50]) == " Did you mean `50`?"


def test_printable_shows_escapes_and_keeps_text():
    assert printable("é \x1b[31mred\0") == "é \\x1b[31mred\\x00"
    assert printable("a\tb\n") == "a\tb\n"


def test_the_error_is_a_value_error():
    assert issubclass(GeoBenchError, ValueError)
