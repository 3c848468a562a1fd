"""Which attention heads of a model carry a ranking: `python -m geobench heads --model NAME`.

Each calibration list (data/embedded/calibration, or a folder of the same form) gets items of other calibration lists planted in it, which
do not answer its query. Every head alone ranks the lists under several orders. Its figures:

- `relevance`: the chance that an item that answers the query stands before a planted one (AUROC, ties half);
- `w`: Kendall's W of the ranks of the items that answer, over the orders: how steady they are;
- `places`: the mean Spearman correlation of these ranks with the places that the prompt shows.

The value of a head, or of several together, is relevance + w - |places|, of means over lists. Heads are added one by one, each the one that
raises the value of all so far most. A head's weight is the inverse of the mean standard deviation of its scores within a list, so that all
have an equal say. No edit and no evaluated list has a part in it. (Query-focused retrieval heads: Zhang et al. 2025, arXiv 2506.09944.)
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
from geobench.orders import evaluation_orders

CALIBRATION = paths.ROOT / "data" / "embedded" / "calibration"
PLANTED = 4  # items of other lists in each list


@dataclass(frozen=True)
class Calibration:
    """A list whose first `own` items answer its query; the others were planted."""

    list: RankList
    own: int


def load_calibration(folder: Path) -> list[Calibration]:
    """The lists of a folder, `<noun>.jsonl` with `Name` and `Natural`, with planted items at their ends.

    GeoBenchError for fewer than two lists, a list of fewer than two items, and a noun or an item that an embedded evaluated list has too.
    """
    evaluated = [lst for lists in load_embedded().values() for lst in lists]
    known = {lst.noun.casefold() for lst in evaluated} | {item.name.casefold() for lst in evaluated for item in lst.items}
    found = []
    for file in sorted(folder.glob("*.jsonl")):
        try:
            rows = [(row["Name"], row["Natural"]) for row in read_rows(file)]
        except (KeyError, TypeError) as error:
            raise GeoBenchError(f"{file}: expected rows with Name and Natural, got {came(error)}") from None
        if twice := [name for name in (file.stem, *(name for name, _ in rows)) if str(name).casefold() in known]:
            raise GeoBenchError(f"{file}: `{twice[0]}` stands in an evaluated list too; calibration lists must share nothing with them")
        if len(rows) < 2:
            raise GeoBenchError(f"{file}: expected two items or more, found {len(rows)}")
        found.append((file.stem, rows))
    if len(found) < 2:
        raise GeoBenchError(f"{folder}: expected two calibration lists (*.jsonl) or more, found {len(found)}")
    return [Calibration(_planted(n, found), len(found[n][1])) for n in range(len(found))]


def _planted(n: int, found: list[tuple[str, list]]) -> RankList:
    """List n with PLANTED items, each of another list while there are enough."""
    noun, rows = found[n]
    others, own = found[n + 1 :] + found[:n], {name for name, _ in rows}
    drawn = (others[(3 * k - 1) % len(others)][1] for k in range(1, PLANTED + 1))
    more = [items[(n + k) % len(items)] for k, items in enumerate(drawn, 1)]
    return make_list("calibration", noun, noun, rows + [(name, text) for name, text in dict(more).items() if name not in own])


def digest(lists: list[Calibration]) -> str:
    """Hex digest of the calibration lists' content."""
    shown = [[one.list.noun, [[i.name, i.description] for i in one.list.items], one.own] for one in lists]
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


def figures(scores: np.ndarray, orders, own: int) -> np.ndarray:
    """[3, N] relevance, w and places of N ways to score one list. scores [N, K, L], higher is better; orders [K][L]; the first `own` items
    answer."""
    answers, other = scores[:, :, :own, None], scores[:, :, None, own:]
    relevance = ((answers > other) + (answers == other) / 2).mean((1, 2, 3))
    scores, shown = scores[:, :, :own], np.argsort(orders, axis=1)[:, :own]
    ranks = (scores[:, :, None, :] > scores[:, :, :, None]).sum(3) - (own - 1) / 2  # of item i: how many score higher, centred
    places = shown.argsort(axis=1).argsort(axis=1) - (own - 1) / 2
    k, even = ranks.shape[1], own * (own**2 - 1) / 12
    w = (ranks.sum(1) ** 2).sum(1) / (k**2 * even)
    spread = np.sqrt((ranks**2).sum(2) * even)
    alike = np.divide((ranks * places).sum(2), spread, out=np.zeros(spread.shape), where=spread > 0).mean(1)
    return np.stack([relevance, w, alike])


def mean_figures(found, lists: list[Calibration], weights: np.ndarray, chosen: list[int], also: bool = False) -> np.ndarray:
    """Means over lists of relevance, w and places: [3, 1] of the chosen heads together; also: [3, heads] with each head added to them.

    found: what `head_scores` yields.
    """
    rows = []
    for (orders, scores), one in zip(found, lists, strict=True):
        together = np.einsum("khl,h->kl", scores[:, chosen], weights[chosen])[None]
        rows.append(figures(together + (scores * weights[:, None]).transpose(1, 0, 2) if also else together, orders, one.own))
    return np.mean(rows, axis=0)


def weights_of(found) -> np.ndarray:
    """[heads]: the inverse of the mean standard deviation of a head's scores within a list; 0 for a head that tells no items apart."""
    spread = np.mean([scores.std(2).mean(0) for _, scores in found], axis=0)
    return np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 1e-12)


def choose(found, lists: list[Calibration], count: int) -> list[int]:
    """Numbers of `count` heads, best first (all of those that tell items apart where they are fewer)."""
    weights, chosen = weights_of(found), []
    for _ in range(min(count, np.count_nonzero(weights))):
        relevance, w, places = mean_figures(found, lists, weights, chosen, also=True)
        value = relevance + w - np.abs(places)
        value[weights == 0] = value[chosen] = -np.inf
        chosen.append(int(value.argmax()))
    return chosen


def write_heads(model: str, folder: str | None = None, orders: int = 6, count: int = 8, depth: int | None = None) -> str:
    """Choose a model's heads and write them to params/heads/NAME.yaml; what is to be said of it. depth: of the layers that may be read
    (default: two thirds). GeoBenchError as in `load_calibration`, and for a depth or a count that the model does not have."""
    from geobench.models import spec
    from geobench.rankers import open_ranker

    lists = load_calibration(Path(folder) if folder else CALIBRATION)
    row = spec(model)
    ranker = open_ranker(f"{model}:attention")
    config = ranker.engine.model.config
    layers, size = config.num_hidden_layers, config.num_attention_heads
    depth = depth or -(-2 * layers // 3)
    if not 1 <= depth <= layers:
        raise GeoBenchError(f"--depth: `{row.name}` has {layers} layers, got {depth}")
    if not 1 <= count <= depth * size:
        raise GeoBenchError(f"--count: `{row.name}` has {depth * size} heads in {depth} layers, got {count}")
    if orders < 2:
        raise GeoBenchError(f"--orders: expected two or more, got {orders}")
    found = list(head_scores(ranker, lists, orders, 0, depth))
    weights, chosen = weights_of(found), choose(found, lists, count)
    rows = []
    for n in chosen:
        weight = float(f"{weights[n]:.6g}")
        rows.append({"layer": n // size, "head": n % size, "weight": weight} | _named(mean_figures(found, lists, weights, [n])))
    how = {
        "lists": len(lists), "orders": orders, "calibration": digest(lists), "layers": depth,
        "rule": "forward selection by relevance + w - |places| (lib/geobench/head_choice.py)",
        "together": _named(mean_figures(found, lists, weights, chosen)),
        "left_out": _named(left_out(found, lists, count)),
        "all_heads": _named(mean_figures(found, lists, np.ones(len(weights)), list(range(len(weights))))),
    }  # fmt: skip
    made = heads.HeadFile.model_validate(heads.weights_of(row) | {"chosen": how, "heads": rows})
    heads.write(row, made)
    last = max(head["layer"] for head in rows) + 1
    shown = [f"{heads.file_of(row)}: {len(rows)} heads, which need {last} of {layers} layers; on {len(lists)} lists:"]
    for name in ("together", "left_out", "all_heads"):
        shown.append(f"  {name:<10} " + "  ".join(f"{key} {number:+.3f}" for key, number in how[name].items()))
    return "\n".join(shown)


def left_out(found, lists: list[Calibration], count: int) -> np.ndarray:
    """[3, 1]: mean figures of each list under heads that were chosen on the others."""
    rows = []
    for n in range(len(lists)):
        rest, others = found[:n] + found[n + 1 :], lists[:n] + lists[n + 1 :]
        rows.append(mean_figures(found[n : n + 1], lists[n : n + 1], weights_of(rest), choose(rest, others, count)))
    return np.mean(rows, axis=0)


def _named(figures: np.ndarray) -> dict:
    return {name: round(float(number), 3) for name, number in zip(("relevance", "w", "places"), figures[:, 0], strict=True)}
