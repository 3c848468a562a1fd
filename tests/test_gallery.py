"""Every figure from a finished run's files, twice the same bytes; what is missing is named."""

import json

import pandas as pd
import pytest
import yaml

from geobench import detection_tables, effect_tables, export, gallery, inventory, paths
from geobench.errors import GeoBenchError
from geobench.operating_points import calibration_table, standard_points
from geobench.rank_correlation import rank_correlation_table


@pytest.fixture(scope="module")
def folder(study, tmp_path_factory):
    class Work:
        folder, params = tmp_path_factory.mktemp("results") / "made", study.params()

    targets, wide, params = study.targets(), study.scores(), Work.params
    Work.folder.mkdir()
    targets.to_csv(Work.folder / "per_target.csv", index=False)
    wide.to_csv(Work.folder / "scores.csv", index=False)
    (Work.folder / "params.yaml").write_text(yaml.safe_dump({"main_ranker": "r"}))
    both = pd.concat([targets, targets.assign(ranker="s", nrg=-targets["nrg"])], ignore_index=True)
    inventory.save(Work, "table_02_main", effect_tables.main_table(targets, wide, standard_points(wide, 0.1), params))
    inventory.save(Work, "table_11_per_dataset", effect_tables.dataset_table(targets, params))
    inventory.save(Work, "table_07_calibration", calibration_table(wide, 0.1))
    square = rank_correlation_table(effect_tables.ranker_table(both, params)[1], "nrg")
    inventory.save(Work, "table_03_spearman", square.reset_index(names="ranker"))
    inventory.save(Work, "table_17_all_contrasts", effect_tables.contrast_tables(targets, params)[1])
    detection_tables.auroc_all(wide, params)
    return Work.folder


def test_every_figure_is_drawn_and_byte_stable(folder):
    names = gallery.draw_all(folder)
    assert names == list(inventory.FIGURES) == list(gallery.SOURCES)
    first = {f.name: f.read_bytes() for f in (folder / "figures").iterdir()}
    assert len(first) == 4 * len(names)
    gallery.draw_all(folder)
    assert first == {f.name: f.read_bytes() for f in (folder / "figures").iterdir()}
    assert all(b"FontFile2" in data for name, data in first.items() if name.endswith(".pdf"))  # TrueType, embedded
    assert json.loads(first["fig_roc.json"])["caption"] == inventory.caption("fig_roc")


def test_export_draws_at_the_width_and_copies_tables(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "RESULTS", folder.parent)
    files = export.export("made", tmp_path, figures=["fig_gain"], width="3.3in")
    assert [f.name for f in files] == ["fig_gain.pdf"] and b"/MediaBox [ 0 0 237.6 " in files[0].read_bytes()
    again = export.export("made", tmp_path / "again", figures=["fig_gain"], width="3.3in")
    assert files[0].read_bytes() == again[0].read_bytes()
    table = export.export("made", tmp_path, tables=["table_02_main"], kind="csv")[0]
    assert table.read_bytes() == (folder / "tables" / "table_02_main.csv").read_bytes()
    assert len(export.export("made", tmp_path / "all", tables=[])) == 5


def test_what_is_not_there_is_named(folder, tmp_path):
    with pytest.raises(GeoBenchError, match="no table or figure `fig_gian`. Did you mean `fig_gain`"):
        gallery.draw("fig_gian", folder)
    with pytest.raises(GeoBenchError, match="fig_roc: no .*scores.csv"):
        gallery.draw("fig_roc", tmp_path)


def test_damaged_parameters_are_named(folder, tmp_path):
    (tmp_path / "per_target.csv").write_bytes((folder / "per_target.csv").read_bytes())
    (tmp_path / "params.yaml").write_bytes(b"\xff")
    with pytest.raises(GeoBenchError, match="params.yaml: not valid YAML"):
        gallery.draw("fig_before_after", tmp_path)
