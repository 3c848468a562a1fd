import pytest

from geobench.summary import with_text_measures


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
