"""The rules: one file each, named after its step; `table` lists them, `step` says what a step is.

`mirostat` contains what the two versions of mirostat share.
"""
