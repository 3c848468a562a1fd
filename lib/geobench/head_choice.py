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
from geobench.errors import GeoBenchError
from geobench.lists import RankList, make_list, read_list_file
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

    GeoBenchError for fewer than two lists, what is no list (lists.read_list_file), a noun or an item of an embedded evaluated list, and
    lists with nothing to plant.
    """
    found = [read_list_file(file, "calibration") for file in sorted(folder.glob("*.jsonl"))]
    if len(found) < 2:
        raise GeoBenchError(f"{folder}: expected two calibration lists (*.jsonl) or more, found {len(found)}")
    known = {name.casefold(): lst.key for lists in load_embedded().values() for lst in lists for name in _names(lst)}
    for lst, name in [(lst, name) for lst in found for name in _names(lst)]:
        if other := known.get(name.casefold()):
            raise GeoBenchError(f"{folder / lst.name}.jsonl: `{name}` stands in the evaluated list `{other}` too; share nothing with it")
    return [Calibration(_planted(n, found), len(found[n])) for n in range(len(found))]


def _planted(n: int, found: list[RankList]) -> RankList:
    """List n with PLANTED items, each of another list while there are enough."""
    own, others = found[n], found[n + 1 :] + found[:n]
    drawn = (others[(3 * k - 1) % len(others)].items for k in range(1, PLANTED + 1))
    more = {items[(n + k) % len(items)].name.casefold(): items[(n + k) % len(items)] for k, items in enumerate(drawn, 1)}
    if not (more := {name: item for name, item in more.items() if name not in map(str.casefold, _names(own))}):
        raise GeoBenchError(f"calibration list `{own.name}`: the other lists have no items of other names to plant in it")
    return make_list("calibration", own.name, own.noun, [*own.items, *more.values()])


def _names(lst: RankList) -> list[str]:
    return [lst.noun, *(item.name for item in lst.items)]


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
            scores.append(item_scores(out.difference[0], spans).cpu().numpy()[:, np.argsort(order)])
        yield orders, np.stack(scores)


def figures(scores: np.ndarray, orders, own: int) -> np.ndarray:
    """[3, N] relevance, w and places of N ways to score one list. scores [N, K, L], higher is better; orders [K][L]; the first `own` items
    answer."""
    relevance = _beats(scores[:, :, :own], scores[:, :, own:]).mean((1, 2, 3))
    scores, shown = scores[:, :, :own], np.argsort(orders, axis=1)[:, :own]
    ranks = _beats(scores, scores).sum(2) - own / 2  # centred; tied items share theirs
    places = shown.argsort(axis=1).argsort(axis=1) - (own - 1) / 2
    even = (ranks**2).sum(2)  # less where items are tied, 0 where all are
    w = _ratio((ranks.sum(1) ** 2).sum(1), ranks.shape[1] * even.sum(1))
    alike = _ratio((ranks * places).sum(2), np.sqrt(even * own * (own**2 - 1) / 12)).mean(1)
    return np.stack([relevance, w, alike])


def _beats(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """[..., A, B]: 1 where an item of a [..., A] scores higher than one of b [..., B], half for a tie."""
    return (a[..., None] > b[..., None, :]) + (a[..., None] == b[..., None, :]) / 2


def _ratio(top: np.ndarray, bottom: np.ndarray) -> np.ndarray:
    return np.divide(top, bottom, out=np.zeros(bottom.shape), where=bottom > 0)


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


def write_heads(model: str, folder: str | None = None, orders: int = 6, count: int = 8, depth: int | None = None, force=False) -> str:
    """Choose a model's heads and write params/heads/NAME.yaml; what is to be said. depth: layers that may be read (default: two thirds).
    GeoBenchError as in `load_calibration`, for what the model does not have, and for usable heads that `force` does not give up."""
    from geobench.kernels.decoder import all_heads
    from geobench.models import open_model, spec
    from geobench.rankers import parse_name
    from geobench.rankers.attention import AttentionRanker

    row = spec(parse_name(f"{model}:attention")[0])
    lists = load_calibration(Path(folder) if folder else CALIBRATION)
    heads.keep(row, force)
    ranker = AttentionRanker("heads", engine := open_model(model), chosen=all_heads(engine.model))
    layers, size = engine.model.config.num_hidden_layers, engine.model.config.num_attention_heads
    depth = -(-2 * layers // 3) if depth is None else depth
    if not 1 <= depth <= layers:
        raise GeoBenchError(f"--depth: `{row.name}` has {layers} layers, got {depth}")
    if not 1 <= count <= depth * size:
        raise GeoBenchError(f"--count: `{row.name}` has {depth * size} heads in {depth} layers, got {count}")
    if orders < 2:
        raise GeoBenchError(f"--orders: expected two or more, got {orders}")
    found = list(head_scores(ranker, lists, orders, 0, depth))
    weights = weights_of(found)
    if not (chosen := choose(found, lists, count)):
        raise GeoBenchError(f"`{row.name}`: no head of the first {depth} layers tells items apart")
    places = [{"layer": n // size, "head": n % size, "weight": float(f"{weights[n]:.6g}")} for n in chosen]
    rows = [place | _named(mean_figures(found, lists, weights, [n])) for place, n in zip(places, chosen)]
    how = {
        "lists": len(lists), "orders": orders, "calibration": digest(lists), "layers": depth,
        "rule": "forward selection by relevance + w - |places| (lib/geobench/head_choice.py)",
        "together": _named(mean_figures(found, lists, weights, chosen)),
        "left_out": _named(left_out(found, lists, count)),
        "all_heads": _named(mean_figures(found, lists, np.ones(len(weights)), list(range(len(weights))))),
    }  # fmt: skip
    heads.write(row, heads.HeadFile.model_validate(heads.weights_of(row) | {"chosen": how, "heads": rows}))
    said = [f"{heads.file_of(row)}: {len(rows)} heads, which need {max(chosen) // size + 1} of {layers} layers; on {len(lists)} lists:"]
    kinds = [(kind, found) for kind, found in how.items() if isinstance(found, dict)]
    return "\n".join(said + [f"  {kind:<10} " + "  ".join(f"{k} {v:+.3f}" for k, v in found.items()) for kind, found in kinds])


def left_out(found, lists: list[Calibration], count: int) -> np.ndarray:
    """[3, 1]: mean figures of each list under heads that were chosen on the others."""
    rows = []
    for n in range(len(lists)):
        rest, others = found[:n] + found[n + 1 :], lists[:n] + lists[n + 1 :]
        rows.append(mean_figures(found[n : n + 1], lists[n : n + 1], weights_of(rest), choose(rest, others, count)))
    return np.mean(rows, axis=0)


def _named(figures: np.ndarray) -> dict:
    return {name: round(float(number), 3) for name, number in zip(("relevance", "w", "places"), figures[:, 0], strict=True)}
