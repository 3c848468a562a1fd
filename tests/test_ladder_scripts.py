import pytest

from geobench import run
from geobench.editing import make_edits
from geobench.errors import GeoBenchError
from geobench.ladder_scripts import FACTORS, Scripts, factors_of, scripted
from geobench.params import load
from geobench.rankers.attention import AttentionRanker
from geobench.rankers.base import Job, Ranking
from geobench.rankers.generate import GenerateRanker

PUBLISHED, SHARED = ({name: ends[n] for name, ends in FACTORS.items()} for n in (0, 1))


def test_factors_depend_on_the_read_out():
    assert "decoding" in factors_of("smollm2-135m:generate") and "decoding" not in factors_of("smollm2-135m:attention")
    with pytest.raises(GeoBenchError, match="`bm25` sees one item at a time"):
        factors_of("bm25")


def test_settings_change_the_prompt_and_nothing_else(tiny_model, cameras):
    engine = tiny_model("llama")
    ranker = AttentionRanker("m:attention", engine)
    job = Job(cameras, ((0, 1, 2, 3),))
    shared, published = (scripted(ranker, config).prompt_text(job, (0, 1, 2, 3))[0] for config in (SHARED, PUBLISHED))
    assert shared == ranker.prompt_text(job, (0, 1, 2, 3))[0] and "1. Alpha One: A bright lens." in shared
    assert '{"Name": "Alpha One", "Description": "A bright lens."}' in published and published.startswith("[INST] <<SYS>>")
    assert "recommend" in scripted(ranker, PUBLISHED).prompt["query"] and ranker.prompt == AttentionRanker("m", engine).prompt
    assert "chat_text" not in vars(engine)  # the shared engine is as it was
    written = scripted(GenerateRanker("m:generate", engine), PUBLISHED)
    assert written.decoding.temperature > 0 and "recommend" in written.messages(job, (0, 1, 2, 3))[1]["content"]


class Fixed:
    """Ranks every list by place, turned by one place per order."""

    order_free = False

    def __init__(self, name):
        self.name, self.prompt, self.engine = name, {}, None

    def identity(self):
        return {"model": "fixed"}

    def rank(self, jobs):
        for job in jobs:
            size = len(job.list)
            yield job, Ranking([[(i + k) % size + 1 for i in range(size)] for k in range(len(job.orders))])


def test_one_order_is_the_first_of_the_median(tmp_path, monkeypatch):
    values = {"datasets": ["kitchen"], "lists_per_dataset": 1, "ladder_targets": 1, "ladder_variants": ["padding"]}
    work = run.Run(tmp_path / "r", load("smoke", values))
    work.choose()
    make_edits(work, ["injection", "padding"])
    monkeypatch.setattr("geobench.ladder_scripts.open_ranker", lambda name, *_: Fixed(name))
    scripts = Scripts(work)
    config = {k: v for k, v in SHARED.items() if k != "decoding"}
    median, one = scripts.table(config), scripts.table(config | {"orders": "one"})
    assert len(median) == len(one) == 1 and set(median.variant) == {"padding"}
    assert one.r_after[0] == work.tasks[0].target and median.r_after[0] != one.r_after[0]
    file = work.folder / "ladder" / "numbered-protocol-own.jsonl"
    assert len(file.read_text().splitlines()) == 3  # fingerprint, clean list, one edit; both tables come from it
    with pytest.raises(GeoBenchError, match="ladder_variants: none of tap"):
        Scripts(run.Run(work.folder, load("smoke", values | {"ladder_variants": ["tap"]})))
