import pandas as pd

from geobench.figures import save_figure
from geobench.search import figures


def test_figures_are_drawn_and_repeatable(tmp_path):
    main = pd.DataFrame([
        {"victim": v, "condition": c, "asr": a, "asr_lo": a - 0.1, "asr_hi": a + 0.1}
        for v in ("m:generate", "m:likelihood") for c, a in zip(("clean", "ip", "id"), (0.2, 0.2, 0.8))
    ])  # fmt: skip
    rows = [{"name": n, "condition": c, "margins": [m, m, 9]} for n in ("a_b", "c") for c, m in (("clean", -1), ("ip", -2), ("id", 3))]
    curve = pd.DataFrame({"threshold": [0.5, 0.6], "ip": [1.0, 0.9], "id": [0.9, 0.8], "both": [0.9, 0.7]})
    for name, figure in (("scores", figures.scores(main)), ("margins", figures.margins(rows)), ("gate", figures.gate_curve(curve))):
        save_figure(figure, tmp_path, name, "c")
        assert (tmp_path / f"{name}.png").stat().st_size > 5000
    save_figure(figures.scores(main), tmp_path, "again", "c")
    assert (tmp_path / "again.svg").read_bytes() == (tmp_path / "scores.svg").read_bytes()
