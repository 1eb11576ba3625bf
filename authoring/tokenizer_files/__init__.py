"""The tokenizer.json files of the fixtures, one module per kind of component.

document         how such a file is put together
models           flags of the model
added_tokens     flags of added tokens, and their ids
normalizers      every normalizer
pre_tokenizers   every pre-tokenizer
post_processors  every post-processor
decoders         every decoder
lengths          truncation and padding
families         components together, as well-known models have them
table            all of them by name, and the ids of their tokens
"""
