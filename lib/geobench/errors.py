"""The one error that users meet: a clear line that names the item, what was expected and what came instead."""


class GeoBenchError(ValueError):
    """Bad input or a broken promise of the environment; its text is one line for the user."""


class DoesNotFit(GeoBenchError):
    """A prompt longer than its model's context: some callers record it and go on."""


class NotebooksFailed(GeoBenchError):
    """Notebooks of a run stopped; one line for each, and one that names those that were not run because of them."""


def of_system(error: OSError) -> str:
    """What the system said: a file's name and why."""
    return f"{error.filename}: {error.strerror}" if error.filename else str(error)


def came(value: object, limit: int = 200) -> str:
    """First `limit` characters of what came instead, as one line."""
    try:
        text = " ".join(str(value).split())
    except (ValueError, RecursionError):  # Python writes no number of thousands of digits, and nothing nested without end
        text = f"a {type(value).__name__} too large to be shown"
    return repr(text if len(text) <= limit else text[:limit] + "...")


def faults(found) -> str:
    """`field: what was expected, got what came` of each fault of a pydantic ValidationError (`found`: its errors())."""
    return "; ".join(map(_fault, found))


def _fault(fault) -> str:
    name, said = ".".join(map(str, fault["loc"])), fault["msg"].removeprefix("Value error, ")
    hint = f" (write {name}=[{fault['input']}])" if fault["type"] == "list_type" and isinstance(fault["input"], str) else ""
    return f"{name}{': ' if name else ''}{said}{hint}, got {came(fault['input'], 60)}"


def printable(text: str) -> str:
    """Text in which control characters (terminal escapes, NUL) stand as visible escapes."""
    return "".join(c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in text)


def nearest(name: str, known) -> str:
    """' Did you mean `x`?' for the closest known name, or the list of known names."""
    import difflib

    known = sorted(map(str, known))
    close = difflib.get_close_matches(str(name), known, n=1, cutoff=0.5)
    return f" Did you mean `{close[0]}`?" if close else f" Known: {', '.join(known)}."
