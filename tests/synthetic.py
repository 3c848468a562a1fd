"""A made-up study for tests of tables and figures: per-target rows of three variants, and scores of their texts."""

import numpy as np
import pandas as pd
import yaml

from geobench.catalog import Selected, catalog_sha, write_catalog
from geobench.lists import Item, RankList
from geobench.metrics import nrg, promote, success
from geobench.params import load
from geobench.records import UNIT, Records
from geobench.run import sha

VARIANTS = {"tap__m": 3, "fluency__a": 0, "fluency__b": 1, "padding": 0, "injection": 4}  # places that each gains


def targets(seed=0, sizes=None):
    """Five variants on 12 targets of two data sets (three lists and one), L = 6."""
    rng, rows = np.random.default_rng(seed), []
    for variant, gain in VARIANTS.items():
        for dataset, lists in (sizes or {"a": 3, "b": 1}).items():
            for n in range(lists):
                for target in (1, 2, 3):
                    before = 2 + (target + n) % 5
                    after = min(7, max(1, before - gain + rng.integers(0, 2)))
                    rows.append({"variant": variant, "ranker": "r", "dataset": dataset, "list": f"l{n}", "target": target, "L": 6,
                                 "r_before": float(before), "r_after": float(after)})  # fmt: skip
    frame = pd.DataFrame(rows)
    before, after = frame["r_before"], frame["r_after"]
    return frame.assign(
        **{"nrg": nrg(before, after, 6), "success@0.1": success(after, 6, 0.1), "promote@0.1": promote(before, after, 6, 0.1)}
    )


def scores(seed=1):
    """Scores of the texts of `targets`: keyword hits only of injection, judge higher for strong edits."""
    rng, edits = np.random.default_rng(seed), targets()[["variant", "dataset", "list", "target"]]
    first = edits[edits.variant == "padding"].assign(variant="original")
    frame = pd.concat([first, edits], ignore_index=True)
    gain = frame["variant"].map(VARIANTS).fillna(0)
    noise = rng.normal(size=(3, len(frame)))
    return frame.assign(
        keyword=(frame.variant == "injection") * 2.0, perplexity=20 + noise[0], judge=gain + noise[1] / 2, trained=gain / 2 + noise[2]
    )


def params(**values):
    return load("smoke", {"resamples": 200, **values})


ORDERS = [[0, 1, 2, 3, 4]]


def five_items(count=4):
    items = tuple(Item(f"N{i}", f"text {i}") for i in range(5))
    return [Selected(RankList("d", f"l{n}", "thing", items), (5,)) for n in range(count)]


def submission(folder, variants, seed=0, chosen=None, judged=None, judge="j"):
    """A submitted run: item 5 of each list (last of five when clean) ends at the given place, per variant.

    judged: the judge's score of each text, by variant (`original` too). Texts are the variants' names.
    """
    chosen = chosen or five_items()
    write_catalog(folder / "catalog.jsonl", chosen)
    (folder / "params.yaml").write_text(yaml.safe_dump({"main_ranker": "bm25"}))
    shown = {"catalog": catalog_sha(chosen), "ranker": {"read_out": "bm25"}, "orders": 1, "own": False, "seed": seed}
    keys = [{"dataset": s.list.dataset, "list": s.list.name} for s in chosen]
    clean = [key | {"target": None, "orders": ORDERS, "ranks": [[1, 2, 3, 4, 5]]} for key in keys]
    write(folder / "ranks" / "bm25" / "clean.jsonl", {"kind": "ranks", "variant": "clean"} | shown, clean)
    for variant, ends in variants.items():
        edits = [key | {"target": 5, "variant": variant, "text": variant} for key in keys]
        write(folder / "edits" / f"{variant}.jsonl", {"kind": "edits"}, edits)
        ranks = [key | {"target": 5, "orders": ORDERS, "ranks": [end], "text_sha": sha(variant)} for key, end in zip(keys, ends)]
        write(folder / "ranks" / "bm25" / f"{variant}.jsonl", {"kind": "ranks", "variant": variant} | shown, ranks)
    texts = {v: sha("text 4" if v == "original" else v) for v in judged or ()}
    rows = [key | {"target": 5, "variant": v, "text_sha": text, "score": judged[v]} for key in keys for v, text in texts.items()]
    if judged:
        write(folder / "scores" / "judge.jsonl", {"kind": "scores", "detector": {"model": judge}}, rows)
    return str(folder)


def write(file, fingerprint, rows):
    """A record file."""
    with Records(file, fingerprint, (*UNIT, "variant")) as book:
        for row in rows:
            book.append(row)
