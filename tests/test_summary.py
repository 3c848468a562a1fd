from types import SimpleNamespace

import pytest

from geobench.errors import GeoBenchError
from geobench.records import read_records
from geobench.summary import score_table, with_text_measures


def test_measures_of_the_texts_are_joined_by_target(study):
    targets, wide = study.targets(), study.scores()
    frame = with_text_measures(targets, wide.sample(frac=1, random_state=0))
    assert len(frame) == len(targets) and frame.groupby("variant")["kvr"].mean().to_dict() == {
        "fluency__a": 0, "fluency__b": 0, "injection": 1, "padding": 0, "tap__m": 0
    }  # fmt: skip
    key = {"dataset": "a", "list": "l1", "target": 2}
    rows = wide.loc[(wide[list(key)] == list(key.values())).all(axis=1)].set_index("variant")["perplexity"]
    mine = frame.loc[(frame[list(key)] == list(key.values())).all(axis=1)].set_index("variant")["ppl_ratio"]
    assert mine["tap__m"] == pytest.approx(rows["tap__m"] / rows["original"])


def test_a_missing_input_names_the_notebook_that_makes_it(tmp_path):
    with pytest.raises(GeoBenchError, match="no scores of `keyword` .*: run notebook 06_detection first"):
        score_table(SimpleNamespace(folder=tmp_path))
    for folder, maker in (("ranks/m.attention", "05_ranking"), ("scores", "06_detection"), ("edits", "02 to 04")):
        with pytest.raises(GeoBenchError, match=f"no records at .*: run notebooks? {maker} first"):
            read_records(tmp_path / folder / "clean.jsonl")
