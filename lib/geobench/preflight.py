"""Before any model loads: the data, the prompts, the external edits and the weights that a plan needs are there and sound."""

from pathlib import Path

from geobench import heads, paths
from geobench.attacks import TARGET_LAST, entries, family, named, split, with_knowledge
from geobench.errors import GeoBenchError, came, nearest
from geobench.models import ModelSpec, require_engine, spec
from geobench.orders import search_orders, search_split
from geobench.params import layered
from geobench.rankers import parse_name
from geobench.roles import refuse_ladder
from geobench.run import chosen_lists
from geobench.search.victims import parse_victim


def check(made, weights: bool = True) -> None:
    """GeoBenchError for the first thing that would stop the plan's notebooks later; `weights=False` leaves the models out."""
    from geobench.attacks import external
    from geobench.detectors.keywords import load_lexicon
    from geobench.prompts import check_prompts

    check_prompts()
    load_lexicon()
    check_variants(made)
    if "09_evaluation_ladder" in made.chosen:
        refuse_ladder(made.params)
    selected = chosen_lists(made) if any(name < "11" for name in made.chosen) else []
    _check_search(made)
    for file in made.params.external_edits if "03_black_box" in made.chosen else ():
        external.read(file, selected)
    if weights:
        from geobench.dry_run import refuse_endless

        refuse_endless(made)
    check_orders(made, selected)
    if weights and made.params.executor == "ray":
        from geobench.executors.workers import require_ray

        require_ray()
    for name in needed_models(made.params, made.chosen):
        heads.head_file(spec(name))
        if weights:
            require_weights(spec(name))


def check_orders(made, selected) -> None:
    """GeoBenchError for a list too short for the searches of the plan: orders to optimise on and to hold out never meet evaluation's."""
    p = made.params
    white = p.white_box if "02_white_box" in made.chosen else []
    tap = any(split(entry)[0] == "tap" for entry in p.black_box) and "03_black_box" in made.chosen
    for one in selected:
        lst = one.list
        for own, prompt in {(family(split(entry)[0]), with_knowledge(p, entry).optimisation_prompt) for entry in white}:
            ends = [t - 1 for t in one.targets] if prompt == "own" and own in TARGET_LAST else [None]
            for last in ends:
                search_split(lst.key, len(lst), p.test_orders, getattr(p, f"{own}_orders"), p.seed, last)
        if tap:
            search_orders(lst.key, len(lst), p.tap_orders, p.seed)


def check_variants(made) -> None:
    """GeoBenchError for a variant asked for (beyond those of the profile) that the plan neither makes nor finds in its folder."""
    p, profile = made.params, layered(made.profile)
    folder = made.folder if (made.folder / "edits").is_dir() else paths.RESULTS / made.profile
    known = {named(p, entry)[0] for entry in entries(p)} | {f"external__{Path(file).stem}" for file in p.external_edits}
    known |= {file.stem for file in (folder / "edits").glob("*.jsonl")}
    for notebook, name in (("05_ranking", "generate_variants"), ("09_evaluation_ladder", "ladder_variants")):
        for variant in (getattr(p, name) or ()) if notebook in made.chosen else ():
            if variant not in {*known, *(profile.get(name) or ())}:
                raise GeoBenchError(f"{name}: this run has no variant `{variant}`.{nearest(variant, known)}")


def _check_search(made) -> None:
    """The search track's corpus and training part; public queries are checked where they are read."""
    from geobench.search.defences.guard_run import load_part
    from geobench.search.pipeline import checked, load_own

    if made.params.search_corpus == "geo_bench":
        return
    if "11_search_data" in made.chosen:
        checked(made.params, load_own(made.params))
    if "13_guard" in made.chosen:
        load_part(made.params, made.folder / "search")


def needed_models(p, chosen: list[str]) -> list[str]:
    """Names of the models that the chosen notebooks load."""
    tap = any(split(e)[0] == "tap" for e in p.black_box)
    needs = {
        "02_white_box": _models(p, p.white_box) + (_rankers([p.optimisation_ranker]) if p.white_box else []),
        "03_black_box": _models(p, p.black_box) + (_rankers([p.tap_ranker]) if tap else []),
        "04_rewrites": _models(p, p.rewrites),
        "05_ranking": _rankers(p.rankers),
        "06_detection": [p.reference_model, p.judge, p.detector],
        "11_search_data": [p.search_encoder, p.reference_model, *([p.search_rewriter] if p.search_rewrite_queries != 0 else [])],
        "12_search_answers": [p.search_encoder, p.search_reranker, *_victims(p.search_victims), *filter(None, [p.search_judge])],
        "09_evaluation_ladder": _rankers(p.ladder_rankers or [p.main_ranker]),
        "13_guard": [p.search_guard_encoder],
        "14_defences": [
            p.search_encoder, p.search_reranker, p.search_guard_encoder, *_victims(p.search_defence_victims or p.search_victims),
            *p.search_guard_models.values(),
        ],
        "15_search_statistics": [p.reference_model, p.judge, p.search_encoder, p.search_guard_encoder],
    }
    return list(dict.fromkeys(model for name in chosen for model in needs.get(name, [])))


def _rankers(names: list[str]) -> list[str]:
    return [model for model, _ in map(parse_name, names) if model]


def _victims(names: list[str]) -> list[str]:
    return [model for model, _ in map(parse_victim, names)]


def _models(p, entries: list[str]) -> list[str]:
    return [model for _, _, model in (named(p, entry) for entry in entries)]


def require_weights(row: ModelSpec) -> None:
    """GeoBenchError with the command that gets them where a model's weights are neither here nor to be had."""
    from geobench.weights import locate

    require_engine(row)
    if row.gives.served:
        return
    where, revision = locate(row, fetch=False)
    if row.source == "hf":
        _require_hub(row.name, where, revision)


def _require_hub(name: str, repository: str, revision: str | None) -> None:
    from huggingface_hub import hf_hub_download, try_to_load_from_cache
    from huggingface_hub.utils import logging

    logging.set_verbosity_error()  # its retries are in the error below
    if isinstance(try_to_load_from_cache(repository, "config.json", revision=revision), str):
        return
    try:
        hf_hub_download(repository, "config.json", revision=revision)
    except Exception as error:  # no network, no such repository, no licence accepted: a dozen types
        at = f" --revision {revision}" if revision else ""
        raise GeoBenchError(
            f"model `{name}`: the weights of {repository} are not in the hub cache and cannot be had ({came(error, 120)}); "
            f"when online: hf download {repository}{at}, or point params/models.yaml to a folder with `path:`"
        ) from error
