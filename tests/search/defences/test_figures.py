from tests.search.defences.test_separation import frame as scores
from tests.search.defences.test_tables import frame  # noqa: F401

from geobench.search.defences import amplifier, figures, separation, tables


def test_figures_show_every_defence_and_detector(frame):  # noqa: F811
    import pandas as pd

    assert [t.get_text() for t in figures.roc(scores()).axes[0].get_legend().get_texts()] == ["guard"]
    effect = figures.effects(tables.effect_table(frame, 50))
    assert [t.get_text() for t in effect.axes[0].get_yticklabels()] == ["guard:drop"]
    assert len(figures.transitions(amplifier.transition_table(frame)).axes) == 1
    blocks = pd.DataFrame([{"defence": d, "condition": c, "target": 0.5, "all": 0.2} for d in "ab" for c in ("clean", "ip", "id")])
    assert len(figures.block_rates(blocks).axes[0].collections) == 3
    assert len(figures.tau_curve(separation.tau_table(scores(), "guard", 3)).axes[0].lines) == 3
