"""Settings that a row of params/models.yaml holds for its engine."""

from typing import TypeVar

from pydantic import BaseModel, ValidationError

from geobench.errors import GeoBenchError, came

Settings = TypeVar("Settings", bound=BaseModel)


def read(kind: type[Settings], spec, field: str) -> Settings:
    """The checked `field:` of a row; GeoBenchError, naming the model and the setting, where one is unknown or wrong."""
    given = getattr(spec, field)
    try:
        return kind(**(given or {}))
    except (ValidationError, TypeError) as error:
        said = error.errors()[0] if isinstance(error, ValidationError) else {"loc": (), "msg": error, "input": given}
        where = ".".join(map(str, (field, *said["loc"])))
        raise GeoBenchError(f"models.yaml: model `{spec.name}`: {where}: {said['msg']}, got {came(said['input'], 60)}") from None
