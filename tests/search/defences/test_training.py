import math

import numpy as np
import pytest
import torch

from geobench.errors import GeoBenchError
from geobench.search.defences import training
from geobench.search.defences.pool import Part, parts


def part(name, state, labels=("testimonial",)):
    return Part(name, f"topic {name}", state, labels, f"{name} {state}")


ROWS = [part("a", "id"), part("a", "ip"), part("a", "clean"), part("b", "id"), part("c", "id", ("false_citation",)), part("c", "ip")]


def test_positives_share_a_category_and_never_a_document():
    mask = training.positives(ROWS, set())
    assert mask[0].tolist() == [False, False, False, True, False, False] and mask[3, 0] and mask.sum() == 2
    assert training.positives(ROWS, {"b"}).sum() == 0


def test_other_id_documents_are_no_negatives_but_borderline_ones_are():
    assert training.negatives(ROWS, set()).tolist() == [False, True, True, False, False, True]
    assert training.negatives(ROWS, {"b"}).tolist() == [False, True, True, True, False, True]


def test_the_loss_by_hand():
    vectors = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    positive = torch.tensor([[False, True, False], [False] * 3, [False] * 3])
    negative = torch.tensor([False, False, True])
    assert training.explicit_loss(vectors, positive, negative, 2.0).item() == pytest.approx(math.log(1 + math.exp(-2)), abs=1e-6)
    moved = vectors.clone().requires_grad_()
    nothing = training.explicit_loss(moved, torch.zeros(3, 3, dtype=bool), negative, 2.0)
    nothing.backward()
    assert nothing.item() == 0 and moved.grad.abs().sum() == 0


def test_a_lone_last_document_joins_the_batch_before():
    cut = training.batches(list("abcde"), 2, 0, 0)
    assert [len(c) for c in cut] == [2, 3] and sorted(sum(cut, [])) == list("abcde")
    assert training.batches(list("abcde"), 2, 0, 0) == cut != training.batches(list("abcde"), 2, 1, 0)


def test_in_batch_rows_pair_an_anchor_with_its_ip():
    anchors, matched, paired = training.in_batch_rows(ROWS, training.positives(ROWS, set()), np.random.default_rng(0))
    assert (anchors, matched, paired) == ([0], [3], [1])


@pytest.mark.parametrize("loss", ["explicit", "in_batch"])
def test_training_learns_and_the_same_seed_gives_the_same_weights(triples, tiny_encoder, loss):
    made = []
    for seed in (0, 0, 1):
        model = tiny_encoder()
        rows = parts(triples, model.tokenizer, 64, 8, ("clean", "ip", "id"))
        history = training.train(model, rows, set(), training.Settings(loss, 8, 3, 1e-3, 20.0, seed))
        made.append((history, torch.cat([p.detach().ravel() for p in model.parameters()])))
    assert torch.equal(made[0][1], made[1][1]) and not torch.equal(made[0][1], made[2][1])
    assert made[0][0] == made[1][0] and made[0][0][-1] < made[0][0][0]


def test_an_unknown_loss_is_refused(tiny_encoder):
    with pytest.raises(GeoBenchError, match="unknown loss `triplet`"):
        training.train(tiny_encoder(), ROWS, set(), training.Settings("triplet"))
