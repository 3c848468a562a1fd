"""The STS search on a tiny random decoder: its kernels against plain full forwards, and its promises."""

from types import SimpleNamespace

import pytest
import torch

from geobench.attacks import sts
from geobench.attacks.base import Task
from geobench.errors import GeoBenchError
from geobench.kernels.candidates import candidate_losses, token_gradient
from geobench.lists import make_list
from geobench.models import ModelSpec
from geobench.rankers.base import Job
from geobench.rankers.generate import GenerateRanker

ROWS = [
    ("Amber Kettle", "Boils a litre in two minutes and shuts off by itself."),
    ("Basalt Kettle", "Heavy body that keeps water hot for an hour."),
    ("Cedar Kettle", "Light kettle with a wooden handle for small kitchens."),
    ("Dune Kettle", "Steel kettle\n with a narrow spout for slow pouring"),
]
LIST = make_list("toy", "kettles", "kettle", ROWS)
TEMPLATE = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}\n{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
SETTINGS = SimpleNamespace(sts_tokens=6, sts_steps=6, sts_candidates=24, sts_top_k=16, sts_orders=2, seed=3)


def save_tiny(folder, context=1024):
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    coder = Tokenizer(models.BPE())
    coder.pre_tokenizer, coder.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    special = ["<s>", "</s>", "<|system|>", "<|user|>", "<|assistant|>"]
    trainer = trainers.BpeTrainer(
        vocab_size=450, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    coder.train_from_iterator([" ".join(row) for row in ROWS] * 3 + [" * * x x ! !"] * 20, trainer)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=coder, bos_token="<s>", eos_token="</s>")
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=context, bos_token_id=0, eos_token_id=1, initializer_range=0.3,
    )
    LlamaForCausalLM(config).save_pretrained(folder)


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    from geobench.engines.local import LocalModel

    folder = tmp_path_factory.mktemp("tiny")
    save_tiny(folder)
    return LocalModel(ModelSpec(name="tiny", weights=f"path:{folder}"))


@pytest.fixture(scope="module")
def words(engine):
    return sts.vocabulary(engine)


@pytest.fixture(scope="module")
def staged(engine, words):
    orders = [(2, 0, 3, 1), (0, 1, 3, 2)]  # the target in the middle and at the end
    return sts.scenes_of(Task(LIST, 3), engine, orders, 6, words, {})


@pytest.fixture(scope="module")
def edit(engine):
    return next(sts.run([Task(LIST, 4)], engine, SETTINGS))[1]


def plain_loss(engine, scene, slot, rows=None):
    """Loss by the model's own forward over the whole prompt; rows: [slot, V] one-hot rows instead of the slot's ids."""
    table = engine.model.get_input_embeddings().weight
    x = table[torch.tensor(scene.head + slot + scene.tail + scene.goal)]
    if rows is not None:
        start = len(scene.head)
        x = torch.cat([x[:start], rows @ table, x[start + len(slot) :]])
    out = engine.model(inputs_embeds=x[None], use_cache=False).logits[0, -len(scene.goal) - 1 : -1]
    return torch.nn.functional.cross_entropy(out, torch.tensor(scene.goal))


def test_gradient_equals_plain_autograd(engine, staged):
    scenes, slot = staged
    for scene in scenes:
        rows = torch.nn.functional.one_hot(torch.tensor(slot), engine.model.config.vocab_size).float().requires_grad_()
        plain = plain_loss(engine, scene, slot, rows)
        (wanted,) = torch.autograd.grad(plain, rows)
        loss, gradient = token_gradient(engine.model, scene.past, slot, scene.tail, scene.goal)
        assert loss == pytest.approx(plain.item(), abs=1e-4)
        assert wanted.abs().max() > 1e-3
        torch.testing.assert_close(gradient, wanted, atol=1e-4, rtol=0)


@pytest.mark.parametrize("batch", [1, 4])
def test_candidate_losses_equal_plain_forward(engine, staged, batch):
    scenes, slot = staged
    slots = [[(t + 7 * n) % 440 + 5 for t in slot] for n in range(6)]
    for scene in scenes:
        with torch.no_grad():
            wanted = [float(plain_loss(engine, scene, s)) for s in slots]
        assert len(set(wanted)) == 6
        assert candidate_losses(engine.model, scene.past, slots, scene.tail, scene.goal, batch) == pytest.approx(wanted, abs=1e-4)


def test_loss_never_rises_under_the_same_order(engine, words, edit):
    one = next(sts.run([Task(LIST, 2)], engine, SimpleNamespace(**{**vars(SETTINGS), "sts_orders": 1})))[1]
    losses = [row["loss"] for row in one["trace"]]
    assert all(b <= a + 1e-5 for a, b in zip(losses, losses[1:])) and losses[-1] < losses[0] - 1e-3
    assert one["suffix"] == one["trace"][-1]["suffix"]
    assert [row["step"] for row in edit["trace"]] == list(range(7))


def test_deterministic_whatever_came_before(engine, edit):
    both = dict((task.target, found) for task, found in sts.run([Task(LIST, 1), Task(LIST, 4)], engine, SETTINGS))
    assert both[4] == edit
    other = next(sts.run([Task(LIST, 4)], engine, SimpleNamespace(**{**vars(SETTINGS), "seed": 4})))[1]
    assert other["trace"] != edit["trace"]


def test_text_survives_tokenisation_in_the_ranking_prompt(engine, words, edit):
    orders = [tuple(o) for o in sts.search_orders(LIST.key, 4, 2, 3)]
    scenes, _ = sts.scenes_of(Task(LIST, 4), engine, orders, 6, words, {})
    assert edit["mode"] == "suffix" and edit["text"] == LIST.items[3].description + " " + edit["suffix"]
    assert edit["suffix"].isascii() and edit["suffix"].isprintable()
    for scene, order in zip(scenes, orders):
        ids = engine.encode_chat(GenerateRanker("g", engine).messages(Job(LIST, (order,), 4, edit["text"]), order))
        assert ids[: len(scene.head)] == scene.head and len(ids) == len(scene.head) + 6 + len(scene.tail)
        assert words.text(ids[len(scene.head) : len(scene.head) + 6]) == " " + edit["suffix"]


def test_swaps_that_merge_are_dropped(engine, words, staged):
    scenes, slot = staged
    letters = [engine.tokenizer.convert_tokens_to_ids(t) for t in ("Ġ", "k", "e")]
    assert sts.survives(slot, engine, scenes, words)
    assert not sts.survives([*slot[:3], *letters], engine, scenes, words)


def test_goal_is_the_start_of_the_reply(engine, staged):
    assert {engine.tokenizer.decode(scene.goal) for scene in staged[0]} == {"1. Cedar Kettle"}


def test_errors_name_the_cause(tmp_path):
    from geobench.engines.local import LocalModel

    with pytest.raises(GeoBenchError, match="gradients"):
        next(sts.run([Task(LIST, 1)], SimpleNamespace(), SETTINGS))
    save_tiny(tmp_path, context=64)
    with pytest.raises(GeoBenchError, match=r"toy/kettles item 1 \(Amber Kettle\): .* do not fit the 64"):
        next(sts.run([Task(LIST, 1)], LocalModel(ModelSpec(name="short", weights=f"path:{tmp_path}")), SETTINGS))


def test_identity_holds_what_determines_the_suffix():
    assert set(sts.identity(SETTINGS)) == {"prompt", *vars(SETTINGS)}
