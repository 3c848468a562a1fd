"""Before any model loads: the data, the prompts, the external edits and the weights that a plan needs are there and sound."""

from geobench import catalog, paths
from geobench.attacks import named, split
from geobench.errors import GeoBenchError, came
from geobench.models import ModelSpec, require_engine, spec
from geobench.rankers import parse_name


def check(made, weights: bool = True) -> None:
    """GeoBenchError for the first thing that would stop the plan's notebooks later; `weights=False` leaves the models out."""
    from geobench.attacks import external
    from geobench.detectors.keywords import load_lexicon
    from geobench.prompts import check_prompts

    check_prompts()
    load_lexicon()
    selected = chosen_lists(made)
    for file in made.params.external_edits if "03_black_box" in made.chosen else ():
        external.read(file, selected)
    if weights:
        from geobench.dry_run import refuse_endless

        refuse_endless(made)
    if weights and made.params.executor == "ray":
        from geobench.executors.workers import require_ray

        require_ray()
    for name in needed_models(made.params, made.chosen) if weights else ():
        require_weights(spec(name))


def chosen_lists(made) -> list:
    """The lists of the plan: drawn anew where notebook 01 runs, else those of the folder or of the profile's own run."""
    p = made.params
    if "01_data" not in made.chosen:
        for folder in (made.folder, paths.RESULTS / made.profile):
            if (folder / "catalog.jsonl").exists():
                return catalog.read_catalog(folder / "catalog.jsonl")
    return catalog.select(p.datasets, p.lists_per_dataset, p.targets_per_list, p.seed)


def needed_models(p, chosen: list[str]) -> list[str]:
    """Names of the models that the chosen notebooks load."""
    tap = any(split(e)[0] == "tap" for e in p.black_box)
    needs = {
        "02_white_box": _models(p, p.white_box) + (_rankers([p.optimisation_ranker]) if p.white_box else []),
        "03_black_box": _models(p, p.black_box) + (_rankers([p.tap_ranker]) if tap else []),
        "04_rewrites": _models(p, p.rewrites),
        "05_ranking": _rankers(p.rankers),
        "06_detection": [p.reference_model, p.judge, p.detector],
    }
    return list(dict.fromkeys(model for name in chosen for model in needs.get(name, [])))


def _rankers(names: list[str]) -> list[str]:
    return [model for model, _ in map(parse_name, names) if model]


def _models(p, entries: list[str]) -> list[str]:
    return [model for _, _, model in (named(p, entry) for entry in entries)]


def require_weights(row: ModelSpec) -> None:
    """GeoBenchError with the command that gets them where a model's weights are neither here nor to be had."""
    from geobench.weights import locate

    require_engine(row)
    if row.engine == "openai":
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
