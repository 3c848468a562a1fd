"""Plain-torch kernels over Hugging Face decoders."""
