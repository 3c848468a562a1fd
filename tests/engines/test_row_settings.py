"""Settings of a row: defaults, values, and faults by name."""

import pytest
from pydantic import BaseModel, ConfigDict, Field

from geobench.engines import row_settings
from geobench.errors import GeoBenchError
from geobench.models import ModelSpec


class Oven(BaseModel):
    model_config = ConfigDict(extra="forbid")
    heat: int = Field(180, ge=0)


def row(api):
    return ModelSpec(name="m", weights="path:/w", api=api)


def test_what_is_given_and_what_is_not():
    assert row_settings.read(Oven, row(None), "api").heat == 180 and row_settings.read(Oven, row({"heat": 7}), "api").heat == 7


@pytest.mark.parametrize("given, said", [
    ({"heat": -1}, "models.yaml: model `m`: api.heat: .*, got '-1'"),
    ({"fan": 1}, "model `m`: api.fan: Extra inputs"), ([1], "model `m`: api: .*, got"),
])  # fmt: skip
def test_faults_are_named(given, said):
    with pytest.raises(GeoBenchError, match=said):
        row_settings.read(Oven, row(given), "api")
