"""The dialect of Oniguruma; `reading.compile_oniguruma` returns a pattern ready to search."""
