"""GEO-Bench: how well text edits manipulate LLM-based ranking and generative search, and how well defences catch them."""

__version__ = "0.1.0"
