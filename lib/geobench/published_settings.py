"""The settings that the papers print (data/published/settings.yaml) against the profiles."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from geobench import paths
from geobench.errors import GeoBenchError, faults
from geobench.params import load
from geobench.yaml_values import read_mapping

FILE = paths.ROOT / "data" / "published" / "settings.yaml"


class Setting(BaseModel):
    """A printed value, and the parameter of a profile that must have it."""

    model_config = ConfigDict(extra="forbid")
    paper: str
    place: str
    profile: str
    parameter: str
    value: object


class Exempt(BaseModel):
    """A parameter that differs on purpose."""

    model_config = ConfigDict(extra="forbid")
    profile: str
    parameter: str
    why: str


class Settings(BaseModel):
    model_config = ConfigDict(extra="forbid")
    settings: list[Setting]
    exceptions: list[Exempt]


def read_settings(file: Path = FILE) -> Settings:
    try:
        return Settings.model_validate(read_mapping(file))
    except ValidationError as error:
        raise GeoBenchError(f"{file.name}: {faults(error.errors())}") from None


def contradictions(file: Path = FILE) -> list[str]:
    """One line per printed value that a profile contradicts without an exception, and per exception that no value needs."""
    found, profiles, needed, lines = read_settings(file), {}, set(), []
    exempt = {(row.profile, row.parameter) for row in found.exceptions}
    for row in found.settings:
        params = profiles.setdefault(row.profile, load(row.profile))
        if not hasattr(params, row.parameter):
            lines.append(f"{row.profile}: no parameter `{row.parameter}`")
        elif (own := getattr(params, row.parameter)) != row.value:
            needed.add((row.profile, row.parameter))
            if (row.profile, row.parameter) not in exempt:
                lines.append(f"{row.profile}: {row.parameter} is {own!r}; {row.paper} ({row.place}) has {row.value!r}")
    return lines + [f"{profile}: the exception for {parameter} is needed by no value" for profile, parameter in sorted(exempt - needed)]
