"""The tokens that may stand in a suffix."""

from geobench.attacks.vocabulary import vocabulary


def test_every_allowed_token_is_plain_text(engine):
    words = vocabulary(engine)
    for token in words.inner.nonzero()[:, 0].tolist():
        assert words.texts[token].isascii() and words.texts[token].isprintable() and words.texts[token].strip()
    assert not any(words.inner[i] for i in engine.tokenizer.all_special_ids)
    assert all(words.texts[i].startswith(" ") for i in words.first.nonzero()[:, 0].tolist())


def test_a_slot_reads_as_it_follows_text(engine):
    words = vocabulary(engine)
    slot = engine.tokenizer(" * x", add_special_tokens=False)["input_ids"]
    assert words.text(slot) == " * x" and words.reads(slot) and not words.reads(slot[:0])
