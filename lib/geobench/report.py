"""One HTML page that shows and links everything a run made; opens from disk, dark and light, no outside request."""

import csv
import json
import re
from pathlib import Path

PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>GEO-Bench: {{ name }}</title><style>
:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:auto;padding:1rem}
.scroll{overflow-x:auto}table{border-collapse:collapse;font-size:.85rem}
td,th{padding:.2rem .6rem;border-bottom:1px solid #8884;text-align:left}
img{max-width:36rem;width:100%;background:#fff}pre{overflow-x:auto;background:#8882;padding:.6rem}
figure{margin:1rem 0}</style>
<h1>GEO-Bench: {{ name }}</h1>
<p>Text edits against an LLM ranker, and what detects them. Embedded models are small: the
numbers show the protocol at work and are not comparable with the papers'.</p>
<h2>What ran</h2><table><tr><th>notebook<th>state<th>seconds when it ran<th>open</tr>
{% for r in status %}<tr><td>{{ r.notebook }}<td>{{ r.state }}<td>{{ r.seconds }}
<td><a href="../notebooks/{{ r.notebook }}.html">HTML</a>
<a href="../notebooks/{{ r.notebook }}.ipynb">notebook</a></tr>{% endfor %}</table>
<h2>Figures</h2>{% for f in figures %}
<figure id="{{ f.name }}"><img src="../figures/{{ f.name }}.png" alt="{{ f.caption }}"><figcaption>{{ f.caption }}
<a href="../figures/{{ f.name }}.pdf">PDF</a> <a href="../figures/{{ f.name }}.svg">SVG</a></figcaption>
</figure>{% else %}<p>None yet.</p>{% endfor %}
<h2>Tables</h2>{% for t in tables %}
<h3 id="{{ t.name }}">{{ t.name }}</h3><p>{{ t.caption }} <a href="../tables/{{ t.name }}.csv">CSV</a>
<a href="../tables/{{ t.name }}.tex">LaTeX</a> <a href="../tables/{{ t.name }}.md">Markdown</a></p><div class="scroll"><table>
<tr>{% for h in t.head %}<th>{{ h }}{% endfor %}</tr>
{% for row in t.rows %}<tr>{% for v in row %}<td>{{ v }}{% endfor %}</tr>{% endfor %}</table></div>
{% else %}<p>None yet.</p>{% endfor %}
<h2>Parameters</h2><pre>{{ params }}</pre></html>"""


def build_report(folder: Path) -> Path:
    """Write `<folder>/report/index.html` from what is in the run's folder."""
    from jinja2 import Environment

    folder = Path(folder)
    status = folder / "status.json"
    params = folder / "params.yaml"
    html = Environment(autoescape=True).from_string(PAGE).render(
        name=folder.name, status=json.loads(status.read_text()) if status.exists() else [],
        figures=[_captioned(f) for f in sorted((folder / "figures").glob("*.png"))],
        tables=[_table(f) for f in sorted((folder / "tables").glob("*.csv"))],
        params=params.read_text() if params.exists() else "",
    )  # fmt: skip
    target = folder / "report" / "index.html"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(html, encoding="utf-8")
    return target


def _captioned(file: Path) -> dict:
    note = file.with_suffix(".json")
    return {"name": file.stem, "caption": json.loads(note.read_text())["caption"] if note.exists() else file.stem}


def _table(file: Path) -> dict:
    with file.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.reader(lines))
    return _captioned(file) | {"head": rows[0] if rows else [], "rows": [[_short(v) for v in row] for row in rows[1:]]}


def _short(value: str) -> str:
    """Long decimals to four significant digits; everything else as it is."""
    return f"{float(value):.4g}" if re.fullmatch(r"-?\d+\.\d{3,}(e-?\d+)?", value) else value
