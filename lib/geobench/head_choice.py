"""Which attention heads of a model carry a ranking: `python -m geobench heads --model NAME`.

Every head alone ranks the calibration lists (data/embedded/calibration, or a folder of the same form) under several orders. Its figures:

- `relevance`: the chance that an item that answers the query stands before a planted one that does not (AUROC, ties half);
- `w`: Kendall's W over the orders, how steady its ranks are;
- `places`: the Spearman correlation of its ranks with the places that the prompt shows.

The value of a head, or of several together, is relevance + w - |places|. Heads are added one by one, each the one that raises the value
of all so far most; a head's weight is the inverse of the mean standard deviation of its scores within a list, so that all have an equal
say. No edit and no evaluated list has a part in it. (Query-focused retrieval heads: Zhang et al. 2025, arXiv 2506.09944.)
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from geobench import heads, paths
from geobench.catalog import load_embedded
from geobench.errors import GeoBenchError, came
from geobench.lists import RankList, make_list, read_rows
from geobench.orders import evaluation_orders, kendalls_w

CALIBRATION = paths.ROOT / "data" / "embedded" / "calibration"


@dataclass(frozen=True)
class Calibration:
    """A list, and per item whether it was planted off the topic."""

    list: RankList
    planted: list[bool]


def load_calibration(folder: Path) -> list[Calibration]:
    """The lists of a folder, `<noun>.jsonl` with `Name`, `Natural` and, where planted, `OffTopic: true`. GeoBenchError for a folder without
    lists, a list without a planted item or without one that answers, and a noun or an item that an embedded evaluated list has too."""
    files = sorted(folder.glob("*.jsonl"))
    if not files:
        raise GeoBenchError(f"{folder}: expected calibration lists (*.jsonl), found none")
    evaluated = [lst for lists in load_embedded().values() for lst in lists]
    known = {lst.noun.casefold() for lst in evaluated} | {item.name.casefold() for lst in evaluated for item in lst.items}
    found = []
    for file in files:
        rows = list(read_rows(file))
        try:
            lst = make_list("calibration", file.stem, file.stem, [(row["Name"], row["Natural"]) for row in rows])
            planted = [bool(row.get("OffTopic", False)) for row in rows]
        except (KeyError, TypeError, AttributeError) as error:
            raise GeoBenchError(f"{file}: expected rows with Name and Natural, got {came(error)}") from None
        if len(set(planted)) < 2:
            raise GeoBenchError(f"{file}: expected items with OffTopic true and items without, {sum(planted)} of {len(planted)} have it")
        if twice := [name for name in (lst.noun, *(item.name for item in lst.items)) if name.casefold() in known]:
            raise GeoBenchError(f"{file}: `{twice[0]}` stands in an evaluated list too; calibration lists must share nothing with them")
        found.append(Calibration(lst, planted))
    return found


def digest(lists: list[Calibration]) -> str:
    """Hex digest of the calibration lists' content."""
    shown = [[one.list.noun, [[i.name, i.description] for i in one.list.items], one.planted] for one in lists]
    return hashlib.sha256(json.dumps(shown, ensure_ascii=False).encode()).hexdigest()


def head_scores(ranker, lists: list[Calibration], count: int, seed: int, depth: int):
    """Yields per list (orders [K][L], scores [K, heads, L] float64 in file order) of every head of the first `depth` layers."""
    import torch

    from geobench.kernels import decoder
    from geobench.kernels.readout import item_scores, read_out
    from geobench.rankers.base import Job

    model = ranker.engine.model
    whole = decoder.all_heads(model)
    asked = decoder.Heads({layer: row for layer, row in whole.layers.items() if layer < depth})
    for one in lists:
        orders = evaluation_orders(one.list.key, len(one.list), count, seed)
        scores = []
        for order in orders:
            job = Job(one.list, (tuple(order),))
            ids, spans = ranker.tokens(job, tuple(order))
            with torch.inference_mode():
                rest = torch.tensor([ids], device=model.device)
                out = read_out(model, decoder.EMPTY, rest, *ranker.queries(job), asked, apart=True)
            shown = item_scores(out.difference[0], spans).cpu().numpy()
            scores.append(np.empty_like(shown))
            scores[-1][:, order] = shown
        yield orders, np.stack(scores)


def figures(scores: np.ndarray, orders, planted: list[bool]) -> tuple[float, float, float]:
    """(relevance, w, places) of one list; scores [K, L], higher is better."""
    off = np.array(planted)
    answers, other = scores[:, ~off, None], scores[:, None, off]
    relevance = float(((answers > other) + (answers == other) / 2).mean())
    ranks = (scores[:, None, :] > scores[:, :, None]).sum(2) + 1.0  # of item i: 1 + how many score higher
    shown = np.argsort(orders, axis=1)
    a, b = (x - x.mean(1, keepdims=True) for x in (ranks, shown))
    spread = np.sqrt((a**2).sum(1) * (b**2).sum(1))
    places = float(np.divide((a * b).sum(1), spread, out=np.zeros(len(a)), where=spread > 0).mean())
    w = kendalls_w(ranks) if len(ranks) > 1 else 1.0
    return relevance, 0.0 if np.isnan(w) else w, places


def mean_figures(chosen: list[int], weights: np.ndarray, found, lists: list[Calibration]) -> tuple[float, float, float]:
    """The means over lists of several heads together. found: what `head_scores` yields."""
    rows = [figures((scores[:, chosen] * weights[chosen, None]).sum(1), orders, one.planted) for (orders, scores), one in zip(found, lists)]
    relevance, w, places = np.mean(rows, axis=0).tolist()
    return relevance, w, places


def value(row: tuple[float, float, float]) -> float:
    return row[0] + row[1] - abs(row[2])


def weights_of(found) -> np.ndarray:
    """[heads]: the inverse of the mean standard deviation of a head's scores within a list; 0 for a head that tells no items apart."""
    spread = np.mean([scores.std(2).mean(0) for _, scores in found], axis=0)
    return np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 1e-12)


def choose(found, lists: list[Calibration], count: int) -> list[int]:
    """Numbers of at most `count` heads, best first: each raises the value of all before it most; it ends where none raises it."""
    weights = weights_of(found)
    free, chosen, best = [int(n) for n in weights.nonzero()[0]], [], -np.inf
    while free and len(chosen) < count:
        values = [value(mean_figures([*chosen, n], weights, found, lists)) for n in free]
        if max(values) <= best:
            break
        best = max(values)
        chosen.append(free.pop(values.index(best)))
    return chosen


def write_heads(model: str, folder: str | None = None, orders: int = 5, count: int = 16, depth: int | None = None) -> str:
    """Choose a model's heads and write them to params/heads/NAME.yaml; what is to be said of it. depth: of the layers that may be read
    (default: two thirds)."""
    from geobench.models import spec
    from geobench.rankers import open_ranker

    lists = load_calibration(Path(folder) if folder else CALIBRATION)
    row = spec(model)
    ranker = open_ranker(f"{model}:attention")
    config = ranker.engine.model.config
    depth = depth or -(-2 * config.num_hidden_layers // 3)
    if not 1 <= depth <= config.num_hidden_layers:
        raise GeoBenchError(f"--depth: `{row.name}` has {config.num_hidden_layers} layers, got {depth}")
    found = list(head_scores(ranker, lists, orders, 0, depth))
    chosen, weights, size = choose(found, lists, count), weights_of(found), config.num_attention_heads
    everything = np.ones(len(weights))
    rows = []
    for n in chosen:
        relevance, w, places = mean_figures([n], weights, found, lists)
        weight = float(f"{weights[n]:.6g}")
        rows.append({"layer": n // size, "head": n % size, "weight": weight} | _rounded(relevance, w, places))
    how = {
        "lists": len(lists), "orders": orders, "calibration": digest(lists), "layers": depth,
        "rule": "forward selection by relevance + w - |places| (lib/geobench/head_choice.py)",
        "together": _rounded(*mean_figures(chosen, weights, found, lists)),
        "left_out": _rounded(*left_out(found, lists, count)),
        "all_heads": _rounded(*mean_figures(list(range(len(weights))), everything, found, lists)),
    }  # fmt: skip
    made = heads.HeadFile.model_validate(heads.weights_of(row) | {"chosen": how, "heads": rows})
    heads.write(row, made)
    last = max(head["layer"] for head in rows) + 1
    shown = [f"{heads.file_of(row)}: {len(rows)} heads, which need {last} of {config.num_hidden_layers} layers; on {len(lists)} lists:"]
    for name in ("together", "left_out", "all_heads"):
        shown.append(f"  {name:<10} " + "  ".join(f"{key} {number:+.3f}" for key, number in how[name].items()))
    return "\n".join(shown)


def left_out(found, lists: list[Calibration], count: int) -> tuple[float, float, float]:
    """Mean figures of each list under heads that were chosen on the others."""
    rows = []
    for n in range(len(lists)):
        rest, other = found[:n] + found[n + 1 :], lists[:n] + lists[n + 1 :]
        if other:
            rows.append(mean_figures(choose(rest, other, count), weights_of(rest), found[n : n + 1], lists[n : n + 1]))
    relevance, w, places = np.mean(rows, axis=0).tolist() if rows else (np.nan,) * 3
    return relevance, w, places


def _rounded(relevance: float, w: float, places: float) -> dict:
    return {"relevance": round(relevance, 3), "w": round(w, 3), "places": round(places, 3)}
