"""A toy list and a tiny decoder whose tokenizer knows the start symbols of the white-box attacks."""

import pytest
import torch

from geobench.attacks.base import Task
from geobench.lists import make_list
from geobench.models import ModelSpec
from geobench.params import load
from geobench.rankers.attention import AttentionRanker

ROWS = [
    ("Amber Kettle", "Boils a litre in two minutes and shuts off by itself."),
    ("Basalt Kettle", "Heavy body that keeps water hot for an hour."),
    ("Cedar Kettle", "Light kettle with a wooden handle for small kitchens."),
    ("Dune Kettle", "Steel kettle\n with a narrow spout for slow pouring"),
]
LIST = make_list("toy", "kettles", "kettle", ROWS)
TEMPLATE = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}\n{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"


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


@pytest.fixture(scope="session")
def engine(tmp_path_factory):
    from geobench.engines.local import LocalModel

    folder = tmp_path_factory.mktemp("tiny")
    save_tiny(folder)
    return LocalModel(ModelSpec(name="tiny", weights=f"path:{folder}"))



@pytest.fixture(scope="session")
def short_engine(tmp_path_factory):
    """The same with a context of 64 tokens."""
    from geobench.engines.local import LocalModel

    folder = tmp_path_factory.mktemp("short")
    save_tiny(folder, context=64)
    return LocalModel(ModelSpec(name="short", weights=f"path:{folder}"))


@pytest.fixture(scope="session")
def task():
    """`task(n)`: item n (1-based) of the toy list as target."""
    return lambda target: Task(LIST, target)


@pytest.fixture
def settings():
    """`settings(**values)`: small white-box budgets with overrides."""
    small = {
        "sts_tokens": 6, "sts_steps": 6, "sts_candidates": 24, "sts_top_k": 16, "sts_orders": 2, "seed": 3, "raf_tokens": 3, "raf_steps": 8,
        "raf_top": 12, "raf_patience": 3, "stealthrank_tokens": 5, "stealthrank_rows": 2, "stealthrank_steps": 6, "test_every": 3,
    }
    return lambda **values: load("smoke", small | values)


@pytest.fixture
def ranker(engine):
    return AttentionRanker("tiny:attention", engine)
