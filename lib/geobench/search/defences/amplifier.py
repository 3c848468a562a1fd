"""Does a defence help the attack? Transitions of verdicts with and without it, and an exact McNemar test of worsened against improved.

Dropping a chunk that contradicts the false claim can make an answer worse: the paper counts 74 worsened and 57 improved queries for one
guard and victim. A query is worsened where its ASR level rises, improved where it falls.
"""

from geobench.search.defences.tables import NONE, _wide

LEVELS = (0.0, 0.5, 1.0)


def mcnemar(worsened: int, improved: int) -> float:
    """Two-sided exact p of the discordant pairs, binomial with one half; 1 where there are none."""
    from scipy.stats import binomtest

    total = worsened + improved
    return float(binomtest(worsened, total, 0.5).pvalue) if total else 1.0


def change_table(frame, condition: str = "id"):
    """Per victim and configuration: queries that became worse, better or stayed, refusals among the better ones, and McNemar's p."""
    import pandas as pd

    rows = []
    for victim, defence, wide in _pairs(frame, condition):
        worse, better = int((wide[defence] > wide[NONE]).sum()), int((wide[defence] < wide[NONE]).sum())
        own = frame[(frame.victim == victim) & (frame.defence == defence) & (frame.condition == condition)].set_index("name")
        refused = int((own.loc[wide.index, "stance"] == "refused")[wide[defence] < wide[NONE]].sum())
        rows.append({"defence": defence, "victim": victim, "worsened": worse, "improved": better, "improved_by_refusal": refused,
                     "same": len(wide) - worse - better, "p": mcnemar(worse, better)})  # fmt: skip
    return pd.DataFrame(rows)


def transition_table(frame, condition: str = "id"):
    """Counts of queries by ASR level without (`before`) and with the configuration (columns 0, 0.5, 1), per victim."""
    import pandas as pd

    rows = []
    for victim, defence, wide in _pairs(frame, condition):
        for before in LEVELS:
            after = {f"{a:g}": int(((wide[NONE] == before) & (wide[defence] == a)).sum()) for a in LEVELS}
            rows.append({"defence": defence, "victim": victim, "before": f"{before:g}"} | after)
    return pd.DataFrame(rows)


def _pairs(frame, condition: str):
    for defence in [d for d in dict.fromkeys(frame["defence"]) if d != NONE]:
        for victim in dict.fromkeys(frame.loc[frame.defence == defence, "victim"]):
            yield victim, defence, _wide(frame, victim, defence, condition, "asr")
