"""The pipeline of Hugging Face `tokenizers`, one file per kind of component."""
