"""The two objectives of white-box attacks over one scene: cross-entropy of the wanted reply (kernels.candidates), or of the target in the
attention read-out (kernels.readout). Losses are exact, or screened: approximate and several times cheaper."""

from geobench.attacks.scene import Scene
from geobench.kernels import candidates, readout
from geobench.kernels.candidates import Incumbent


def incumbent(model, scene: Scene, slot: list[int], gradient: bool = True) -> Incumbent:
    """The slot's loss and its gradient by the one-hot rows of its places."""
    kernel, aim = _of(scene)
    return kernel.incumbent(model, scene.past, slot, scene.tail, aim, gradient)


def losses(model, scene: Scene, slots: list[list[int]], base: Incumbent | None = None) -> list[float]:
    """Exact loss of each slot, in order."""
    kernel, aim = _of(scene)
    return kernel.candidate_losses(model, scene.past, slots, scene.tail, aim, base=base)


def screened(model, scene: Scene, slots: list[list[int]], base: Incumbent) -> list[float]:
    """Approximate loss of each slot, in order, with the incumbent's keys and values for most of the tail."""
    kernel, aim = _of(scene)
    return kernel.screened_losses(model, scene.past, base, slots, scene.tail, aim)


def _of(scene: Scene):
    """The kernel of the scene's objective, and what it aims at."""
    return (readout, scene.wanted) if scene.wanted else (candidates, scene.goal)
