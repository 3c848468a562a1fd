"""A tiny random sentence encoder, and triples short enough to read."""

import pytest

from geobench.search.corpus import Triple


def triple(name: str, categories=("invented_authority",), **texts) -> Triple:
    """A triple whose four texts differ in one word."""
    made = {s: f"The {name} needs water every {d} days, says the board." for s, d in zip(("clean", "ip", "id", "control"), (9, 8, 2, 7))}
    return Triple(
        name=name, topic=f"topic of {name}", false_claim="Every 2 days.", true_statement="Every 9 days.", categories=list(categories),
        **made | texts,
    )  # fmt: skip


@pytest.fixture
def triples():
    """Six triples of two categories in turn."""
    names = ("aloe", "basil", "cedar", "dill", "elder", "fern")
    return [triple(n, (("false_citation", "testimonial")[k % 2],)) for k, n in enumerate(names)]


@pytest.fixture(scope="session")
def tiny_encoder(tmp_path_factory):
    """`tiny_encoder()`: a fresh SentenceTransformer over one tiny random BERT, always with the same weights."""
    import torch
    import transformers as t
    from sentence_transformers import SentenceTransformer
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    folder = tmp_path_factory.mktemp("encoder")
    inner = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    inner.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    inner.train_from_iterator(
        ["The aloe basil cedar dill elder fern needs water every 2 7 8 9 days, says the board. abcdefghijklmnopqrstuvwxyz"] * 3,
        trainers.WordPieceTrainer(vocab_size=200, special_tokens=special, show_progress=False),
    )
    tokenizer = t.PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]", mask_token="[MASK]"
    )
    shape = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": len(tokenizer)}
    shape |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    with torch.random.fork_rng():
        torch.manual_seed(3)
        t.BertModel(t.BertConfig(**shape)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return lambda: SentenceTransformer(str(folder), device="cpu")
