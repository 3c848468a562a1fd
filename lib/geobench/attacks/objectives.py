"""The two objectives of white-box attacks over one scene: cross-entropy of the wanted reply, or of the target in the attention
read-out. Losses are exact; `best` may screen candidates first and verify the best few."""

import torch

from geobench.attacks.scene import Scene
from geobench.kernels import candidates
from geobench.kernels.candidates import Incumbent
from geobench.kernels.readout import item_scores, promotion_loss, read_out


def incumbent(model, scene: Scene, slot: list[int]) -> Incumbent:
    """The slot's loss and its gradient by the one-hot rows of its places."""
    if scene.goal:
        return candidates.incumbent(model, scene.past, slot, scene.tail, scene.goal)
    table = model.model.embed_tokens.weight
    with torch.enable_grad():
        x = table[torch.tensor([*slot, *scene.tail], device=table.device)].detach().requires_grad_()
        loss = attention_loss(model, scene, x, len(slot))
        (gradient,) = torch.autograd.grad(loss, x)
    gradient = gradient.float()
    return Incumbent(slot, float(loss.detach()), gradient[: len(slot)] @ table.float().T, None, gradient[len(slot) :].norm(dim=1))


def losses(model, scene: Scene, slots: list[list[int]], base: Incumbent | None = None) -> list[float]:
    """Exact loss of each slot, in order."""
    if scene.goal:
        return candidates.candidate_losses(model, scene.past, slots, scene.tail, scene.goal, base=base)
    with torch.no_grad():
        rows = [torch.tensor([*slot, *scene.tail], device=model.device) for slot in slots]
        return [float(attention_loss(model, scene, row, len(slot))) for row, slot in zip(rows, slots)]


def best(model, scene: Scene, base: Incumbent, slots: list[list[int]], verify: int | None) -> tuple[int, float]:
    """(number of the best slot, its exact loss); the first of equals. verify: as in candidates.best_candidate."""
    if scene.goal:
        return candidates.best_candidate(model, scene.past, base, slots, scene.tail, scene.goal, verify)
    loss, number = min(zip(losses(model, scene, slots), range(len(slots))))
    return number, loss


def attention_loss(model, scene: Scene, rest: torch.Tensor, size: int) -> torch.Tensor:
    """Promotion loss of the scene's target when slot + tail are `rest` (ids [T] or embeddings [T, D]) with a slot of `size`."""
    out = read_out(model, scene.past, rest, *scene.queries)
    return promotion_loss(item_scores(out.difference, moved(scene, size)), scene.shown)


def moved(scene: Scene, size: int) -> list[tuple[int, int]]:
    """The lines' token ranges when the slot has `size` tokens instead of the scene's."""
    slot, shift = len(scene.head), size - scene.size
    return [(start + shift * (start > slot), end + shift * (end > slot)) for start, end in scene.spans]
