"""Methods by name, grouped by what they may see. A variant is named for its method and its model."""

NAMES = (
    "authoritative", "statistics", "citations", "quotes", "fluency",
    "unique_words", "technical_terms", "simple_language", "content_improvement", "llm_guidance",
)  # fmt: skip
METHODS = {
    "sts": "white_box",
    "raf": "white_box",
    "stealthrank": "white_box",
    "zero_shot": "black_box",
    "tap": "black_box",
    **{name: "rewrites" for name in NAMES},
    "injection": "controls",
    "padding": "controls",
}
THREAT = {"white_box": "white-box", "black_box": "black-box", "rewrites": "white-hat", "controls": "control"}
