"""Tiny random models with a tokenizer of their own, written as safetensors and loaded as a user's folder would be."""

import pytest

LINES = [
    "The camera has a bright lens and a long battery life.", "A coffee machine with a quiet grinder and a steel body.",
    "You rank the entries of a list by how well they suit the user's request.", "I am looking for a camera.",
    "Products: Alpha, Beta, Gamma. Answer with one word, yes or no. Yes No",
    "A description can be edited so that an automatic ranking places it higher than it deserves.",
    "a * * * * * x x x x x ! ! ! ! !",  # the start symbols of STS
]
CHATML = (
    "{{ bos_token }}{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def _tokenizer(pairs: bool = False):
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=["<s>", "</s>", "<pad>", "<|im_start|>", "<|im_end|>"], show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    inner.train_from_iterator(LINES * 3, trainer)
    if pairs:
        inner.post_processor = processors.TemplateProcessing(
            single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 1)]
        )
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, bos_token="<s>", eos_token="</s>", pad_token="<pad>")
    if not pairs:
        tokenizer.chat_template = CHATML
    return tokenizer


def _model(kind: str, vocabulary: int):
    import transformers as t

    shape = {
        "vocab_size": vocabulary, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
        "initializer_range": 0.3, "bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 2,
    }
    if kind == "cross_encoder":
        config = t.XLMRobertaConfig(**shape, max_position_embeddings=1040, num_labels=1, type_vocab_size=1)
        return t.XLMRobertaForSequenceClassification(config)
    config_class = {"llama": t.LlamaConfig, "qwen2": t.Qwen2Config, "mistral": t.MistralConfig, "granite": t.GraniteConfig}[kind]
    config = config_class(**shape, num_key_value_heads=2, max_position_embeddings=1024)
    return t.AutoModelForCausalLM.from_config(config)


@pytest.fixture(autouse=True)
def results_elsewhere(tmp_path_factory, monkeypatch):
    """Results of a checkout's own runs say nothing to a test, and no test writes among them."""
    from geobench import paths

    monkeypatch.setattr(paths, "RESULTS", tmp_path_factory.getbasetemp() / "no-results")


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory):
    """`tiny_model(kind)` for llama, qwen2, mistral, granite and cross_encoder: the loaded engine, made once per session."""
    import torch

    from geobench.engines.encoders import Encoder
    from geobench.engines.local import LocalModel
    from geobench.models import ModelSpec

    torch.set_num_threads(1)  # tiny products; threads that wait for each other on a busy machine cost a hundred times as much
    made = {}

    def make(kind: str):
        if kind not in made:
            folder = tmp_path_factory.mktemp(kind)
            cross = kind == "cross_encoder"
            tokenizer = _tokenizer(pairs=cross)
            with torch.random.fork_rng():
                torch.manual_seed(7)
                model = _model(kind, len(tokenizer))
                for name, parameter in model.named_parameters():
                    if name.endswith("bias"):
                        torch.nn.init.normal_(parameter, std=0.1)
            model.save_pretrained(folder, safe_serialization=True)
            tokenizer.save_pretrained(folder)
            spec = ModelSpec(name=f"tiny-{kind}", weights=f"path:{folder}", kind="cross_encoder" if cross else "causal_lm", dtype="float32")
            made[kind] = Encoder(spec) if cross else LocalModel(spec)
        return made[kind]

    return make


@pytest.fixture(scope="session")
def cameras():
    """A list of four cameras whose descriptions differ in length."""
    from geobench.lists import Item, RankList

    items = (
        Item("Alpha One", "A bright lens."), Item("Beta Two", "A long battery life and a steel body for travel."),
        Item("Gamma Three", "Quiet."), Item("Delta Four", "Small,\n light and cheap."),
    )
    return RankList("tests", "cameras", "camera", items)


@pytest.fixture(scope="session")
def study():
    """The module tests/synthetic.py: `targets()`, `scores()` and `params()` of a made-up study."""
    import importlib.util
    from pathlib import Path

    spec = importlib.util.spec_from_file_location("synthetic", Path(__file__).with_name("synthetic.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def kitchen_run(tmp_path, monkeypatch):
    """A chosen run of one embedded list with two targets and BM25 alone; results under tmp_path."""
    from geobench import paths, run
    from geobench.params import load

    monkeypatch.setattr(paths, "RESULTS", tmp_path)
    values = {"datasets": ["kitchen"], "lists_per_dataset": 1, "targets_per_list": 2, "rankers": ["bm25"], "main_ranker": "bm25"}
    made = run.Run(tmp_path / "r", load("smoke", values))
    made.choose()
    return made
