import pandas as pd
import pytest

from geobench import figures

MAIN = pd.DataFrame({
    "variant": ["tap__m", "padding", "fluency__m"], "threat": ["black-box", "control", "white-hat"],
    "nrg": [0.4, -0.1, 0.0], "nrg_lo": [0.2, -0.2, float("nan")], "nrg_hi": [0.5, 0.1, float("nan")], "judge_auroc": [0.9, 0.5, 0.4],
})  # fmt: skip
TARGETS = pd.DataFrame({"variant": ["tap__m", "padding"], "r_before": [4.0, 2.0], "r_after": [1.0, 2.5]})


@pytest.mark.parametrize("draw,frame", [(figures.tradeoff, MAIN), (figures.gain_bars, MAIN), (figures.before_after, TARGETS)])
def test_files_are_byte_stable(draw, frame, tmp_path):
    for folder in ("a", "b"):
        figures.save_figure(draw(frame), tmp_path / folder, "f", "what to see")
    first, second = (sorted((tmp_path / f).iterdir()) for f in ("a", "b"))
    assert [f.suffix for f in first] == [".json", ".pdf", ".png", ".svg"]
    assert [f.read_bytes() for f in first] == [f.read_bytes() for f in second]


def test_two_models_of_one_method_keep_two_bars():
    frame = MAIN.assign(variant=["tap__a", "tap__b", "fluency__m"])
    names = [t.get_text() for t in figures.gain_bars(frame).axes[0].get_yticklabels()]
    assert sorted(names) == ["fluency", "tap a", "tap b"]
