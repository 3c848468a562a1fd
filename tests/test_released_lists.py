import pytest

from geobench.errors import GeoBenchError
from geobench.released_lists import dataset_of, lengths, require_list


def test_a_known_data_set_has_its_lists_and_no_others():
    require_list("ragroll", "blender", "f line 1")
    require_list("kitchen", "chef knife", "f line 1")
    require_list("somebody_s_own", "anything", "f line 1")
    with pytest.raises(GeoBenchError, match="f line 1: `ragroll` has no list `blendr`. Did you mean `blender`?"):
        require_list("ragroll", "blendr", "f line 1")


def test_a_list_tells_its_data_set_where_only_one_has_it():
    assert dataset_of("tent") == "ragroll" and dataset_of("no such list") is None and lengths()["stsdata"] == 10
