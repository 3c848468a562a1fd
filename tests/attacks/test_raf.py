"""RAF grows token by token."""

from geobench.attacks import optimise, raf


def edits(module, tasks, engine, ranker, settings, folder):
    return [edit for _, edit in optimise.run(module, tasks, engine, ranker, settings, folder)]


def test_raf_grows_to_its_length_and_stops(engine, task, ranker, settings, tmp_path):
    (edit,) = edits(raf, [task(1)], engine, ranker, settings(raf_tokens=2, raf_steps=50, raf_patience=2), tmp_path)
    lengths = [len(engine.tokenizer(" " + row["suffix"], add_special_tokens=False)["input_ids"]) for row in edit["trace"]]
    assert lengths == sorted(lengths) and lengths[-1] == 2 and edit["trace"][-1]["step"] <= 4
