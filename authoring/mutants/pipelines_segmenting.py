"""Mutants of the models that do not merge: Unigram, WordPiece and WordLevel."""

from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from authoring.mutants.pipelines import Model, component, tokenizes
from bpe_ref.components import Token
from bpe_ref.models.unigram import Unigram
from bpe_ref.models.word_level import WordLevel
from bpe_ref.models.word_piece import WordPiece

_NO_LIMIT: Final = 1 << 32


def _best_path(
    model: Unigram, piece: str, unknown_score: float, *, later: bool = False, precision: str = "d"
) -> list[str]:
    """Return the texts of the best path, unknown characters one by one."""
    scores = dict(model.pieces)
    sums = array(precision, [0.0]) * (len(piece) + 1)
    starts = [-1] * (len(piece) + 1)
    for start in range(len(piece)):
        ends = [end for end in range(start + 1, len(piece) + 1) if piece[start:end] in scores]
        steps = [(end, scores[piece[start:end]]) for end in ends]
        if start + 1 not in ends:
            steps.append((start + 1, unknown_score))
        for end, score in steps:
            total = array(precision, [sums[start] + score])[0]
            if starts[end] < 0 or total > sums[end] or (later and total == sums[end]):
                sums[end], starts[end] = total, start
    texts: list[str] = []
    end = len(piece)
    while end:
        texts.append(piece[starts[end] : end])
        end = starts[end]
    return texts[::-1]


def _fused(model: Unigram, texts: Iterable[str], *, spelled: bool = True) -> list[str]:
    """Return the texts with unknown ones joined; `spelled` if `<unk>` in the text is one."""
    unknown = model.strings[model.unk_id or 0]
    fused: list[str] = []
    grows = False
    for text in texts:
        is_unknown = text not in model.vocab or (spelled and text == unknown)
        if is_unknown and grows:
            fused[-1] += text
        else:
            fused.append(text)
        grows = is_unknown
    return fused


def _tokens(model: Unigram, texts: Iterable[str]) -> list[Token]:
    """Return the tokens of texts, each by itself."""
    tokens: list[Token] = []
    start = 0
    for text in texts:
        end = start + len(text.encode())
        found = model.vocab.get(text)
        single = [Token(model.unk_id or 0, text, start, end)]
        if found is not None:
            single = [Token(found, text, start, end)]
        elif model.byte_fallback:
            strings = [f"<0x{byte:02X}>" for byte in text.encode()]
            if all(string in model.vocab for string in strings):
                single = [Token(model.vocab[string], string, start, end) for string in strings]
        tokens += single
        start = end
    return tokens


def _scored(unknown_score: Callable[[Unigram], float], **how: Any) -> Callable[[Unigram], Any]:
    """Return what makes a model that finds another best path."""

    def rule(model: Any, piece: str) -> list[Token]:
        texts = _best_path(model, piece, unknown_score(model), **how)
        return _tokens(model, _fused(model, texts))

    return lambda right: Model(right, rule)


@component("model", Unigram, tokenizes("unigram_ties", "abc"))
def tokenize_unigram_later_path(right: Unigram) -> Any:
    """Of two equal sums, the path found later counts, whose last token is shorter."""
    return _scored(lambda model: model.unknown_score, later=True)(right)


@component("model", Unigram, tokenizes("unigram_unknown", "abé"))
def tokenize_unigram_no_penalty(right: Unigram) -> Any:
    """An unknown character has the lowest score of all tokens, without the penalty of 10."""
    return _scored(lambda model: model.unknown_score + 10)(right)


@component("model", Unigram, tokenizes("unigram_unknown", "éa"))
def tokenize_unigram_unknown_tokens_score(right: Unigram) -> Any:
    """An unknown character has the score of the unknown token."""
    return _scored(lambda model: model.pieces[model.unk_id or 0][1])(right)


@component("model", Unigram, tokenizes("unigram_unknown_score", "xa"))
def tokenize_unigram_lowest_of_others(right: Unigram) -> Any:
    """The score of an unknown character follows from the lowest one of the other tokens."""

    def lowest(model: Unigram) -> float:
        return min(score for token, (_, score) in enumerate(model.pieces) if token != model.unk_id)

    return _scored(lambda model: lowest(model) - 10)(right)


@component("model", Unigram, tokenizes("unigram", "other"))
def tokenize_unigram_longest_first(right: Unigram) -> Any:
    """The longest token that fits is taken, from the left, regardless of scores."""

    def rule(model: Any, piece: str) -> list[Token]:
        texts: list[str] = []
        start = 0
        while start < len(piece):
            ends = range(len(piece), start, -1)
            end = next((end for end in ends if piece[start:end] in model.vocab), start + 1)
            texts.append(piece[start:end])
            start = end
        return _tokens(model, _fused(model, texts))

    return Model(right, rule)


@component("model", Unigram, tokenizes("unigram", "other"))
def tokenize_unigram_fewest_tokens(right: Unigram) -> Any:
    """All tokens count the same, so that the fewest tokens win."""
    return replace(right, pieces=[(text, -1.0) for text, _ in right.pieces])


@component("model", Unigram, tokenizes("unigram_unknown", "xx"))
def tokenize_unigram_unknown_apart(right: Unigram) -> Any:
    """Unknown characters that follow one another are one token each."""

    def rule(model: Any, piece: str) -> list[Token]:
        return _tokens(model, _best_path(model, piece, model.unknown_score))

    return Model(right, rule)


@component("model", Unigram, tokenizes("unigram_unknown_score", "x<unk>x"))
def tokenize_unigram_spelled_unknown_apart(right: Unigram) -> Any:
    """The text <unk> is a token of its own beside unknown characters."""

    def rule(model: Any, piece: str) -> list[Token]:
        texts = _best_path(model, piece, model.unknown_score)
        return _tokens(model, _fused(model, texts, spelled=False))

    return Model(right, rule)


def _renamed(right: Unigram, change: Callable[[Unigram, Token], Token]) -> Any:
    """Return the model with other tokens in the places of the right ones."""

    def rule(model: Any, piece: str) -> list[Token]:
        return [change(right, token) for token in right.tokenize(piece)]

    return Model(right, rule)


@component("model", Unigram, tokenizes("unigram_unknown", "x"))
def tokenize_unigram_unknown_string(right: Unigram) -> Any:
    """The string of an unknown token is <unk>, not the text that it stands for."""
    return _renamed(right, lambda model, token: token._replace(string=model.strings[token.id]))


@component("model", Unigram, tokenizes("unigram_bytes_partial", "é"))
def tokenize_unigram_no_byte_fallback(right: Unigram) -> Any:
    """Unknown texts never become bytes."""
    return replace(right, byte_fallback=False)


@component("model", Unigram, tokenizes("unigram_bytes_partial", "日"))
def tokenize_unigram_orphan_bytes(right: Unigram) -> Any:
    """Bytes of an unknown text that are tokens become them, and the others the unknown token."""
    if not right.byte_fallback:
        return right

    def rule(model: Any, piece: str) -> list[Token]:
        tokens: list[Token] = []
        for token in right.tokenize(piece):
            if token.id != right.unk_id:
                tokens.append(token)
                continue
            for byte in token.string.encode():
                string = f"<0x{byte:02X}>"
                id_ = right.vocab.get(string, token.id)
                tokens.append(token._replace(id=id_, string=right.strings[id_]))
        return tokens

    return Model(right, rule)


@component("model", Unigram, tokenizes("unigram_bytes_partial", "éx"))
def tokenize_unigram_bytes_one_by_one(right: Unigram) -> Any:
    """Each character of an unknown text has the offsets of its own, where it became bytes."""
    if not right.byte_fallback:
        return right

    def rule(model: Any, piece: str) -> list[Token]:
        tokens = _tokens(right, _best_path(right, piece, right.unknown_score))
        return tokens if [t.id for t in tokens] == right.ids(piece) else right.tokenize(piece)

    return Model(right, rule)


# ---- WordPiece


def _divided(
    model: WordPiece, word: str, *, prefix: str | None = None, shortest: bool = False
) -> tuple[list[Token], int]:
    """Return the tokens of a word up to where it cannot be divided, and that place."""
    inner = model.continuing_subword_prefix if prefix is None else prefix
    tokens: list[Token] = []
    start = 0
    while start < len(word):
        ends: Sequence[int] = range(len(word), start, -1)
        ends = ends[::-1] if shortest else ends
        written = {end: (inner if start else "") + word[start:end] for end in ends}
        end = next((end for end in ends if written[end] in model.vocab), None)
        if end is None:
            break
        at, to = len(word[:start].encode()), len(word[:end].encode())
        tokens.append(Token(model.vocab[written[end]], written[end], at, to))
        start = end
    return tokens, start


def _unknown(model: WordPiece, word: str, start: int = 0) -> Token:
    at = len(word[:start].encode())
    return Token(model.vocab[model.unk_token], model.unk_token, at, len(word.encode()))


def _words(right: WordPiece, divide: Callable[[str], list[Token]]) -> Any:
    """Return the model with another way to divide words that are not too long."""

    def rule(model: Any, word: str) -> list[Token]:
        if len(word) > right.max_input_chars_per_word:
            return right.tokenize(word)
        return divide(word)

    return Model(right, rule)


@component("model", WordPiece, tokenizes("word_piece", "ths"))
def tokenize_word_piece_prefix_forgotten(right: WordPiece) -> Any:
    """Tokens that continue a word are looked up without their prefix."""

    def divide(word: str) -> list[Token]:
        tokens, end = _divided(right, word, prefix="")
        return tokens if end == len(word) else [_unknown(right, word)]

    return _words(right, divide)


@component("model", WordPiece, tokenizes("word_piece", "the"))
def tokenize_word_piece_shortest_first(right: WordPiece) -> Any:
    """The shortest token that fits is taken."""

    def divide(word: str) -> list[Token]:
        tokens, end = _divided(right, word, shortest=True)
        return tokens if end == len(word) else [_unknown(right, word)]

    return _words(right, divide)


@component("model", WordPiece, tokenizes("word_piece_greedy", "abx"))
def tokenize_word_piece_keeps_the_beginning(right: WordPiece) -> Any:
    """Only what is left of a word that cannot be divided is unknown."""

    def divide(word: str) -> list[Token]:
        tokens, end = _divided(right, word)
        return tokens if end == len(word) else [*tokens, _unknown(right, word, end)]

    return _words(right, divide)


@component("model", WordPiece, tokenizes("word_piece_greedy", "abx"))
def tokenize_word_piece_drops_the_rest(right: WordPiece) -> Any:
    """What is left of a word that cannot be divided further is dropped."""
    return _words(right, lambda word: _divided(right, word)[0] or [_unknown(right, word)])


@component("model", WordPiece, tokenizes("word_piece_greedy", "abcde"))
def tokenize_word_piece_goes_back(right: WordPiece) -> Any:
    """A shorter token is taken where a word could not be divided after the longest one."""

    def divided(word: str, start: int) -> list[Token] | None:
        if start == len(word):
            return []
        for end in range(len(word), start, -1):
            string = (right.continuing_subword_prefix if start else "") + word[start:end]
            rest = divided(word, end) if string in right.vocab else None
            if rest is not None:
                at, to = len(word[:start].encode()), len(word[:end].encode())
                return [Token(right.vocab[string], string, at, to), *rest]
        return None

    def divide(word: str) -> list[Token]:
        found = divided(word, 0)
        return [_unknown(right, word)] if found is None else found

    return _words(right, divide)


@component("model", WordPiece, tokenizes("word_piece_limit", "aaaaa"))
def tokenize_word_piece_limit_off_by_one(right: WordPiece) -> Any:
    """A word of exactly `max_input_chars_per_word` characters is unknown."""
    return replace(right, max_input_chars_per_word=right.max_input_chars_per_word - 1)


@component("model", WordPiece, tokenizes("word_piece_limit", "éééééé"))
def tokenize_word_piece_limit_one_more(right: WordPiece) -> Any:
    """A word of one character more than `max_input_chars_per_word` is still divided."""
    return replace(right, max_input_chars_per_word=right.max_input_chars_per_word + 1)


@component("model", WordPiece, tokenizes("word_piece_limit", "aaaaaaa"))
def tokenize_word_piece_no_limit(right: WordPiece) -> Any:
    """`max_input_chars_per_word` is ignored."""
    return replace(right, max_input_chars_per_word=_NO_LIMIT)


@component("model", WordPiece, tokenizes("word_piece_limit", "ééé"))
def tokenize_word_piece_limit_in_bytes(right: WordPiece) -> Any:
    """The length of a word is counted in bytes."""

    def rule(model: Any, word: str) -> list[Token]:
        if len(word.encode()) > right.max_input_chars_per_word:
            return [_unknown(right, word)]
        return right.tokenize(word)

    return Model(right, rule)


@component("model", WordPiece, tokenizes("word_piece_limit", "aaaaaa"))
def tokenize_word_piece_whole_words_first(right: WordPiece) -> Any:
    """A word that is a token is that token, however long it is."""

    def rule(model: Any, word: str) -> list[Token]:
        if word in right.vocab:
            return [Token(right.vocab[word], word, 0, len(word.encode()))]
        return right.tokenize(word)

    return Model(right, rule)


@component("model", WordPiece, tokenizes("word_piece", "ands"))
def tokenize_word_piece_strings_without_prefix(right: WordPiece) -> Any:
    """The string of a token that continues a word lacks the prefix."""

    def divide(word: str) -> list[Token]:
        prefix = right.continuing_subword_prefix
        return [
            token._replace(string=token.string.removeprefix(prefix)) if token.start else token
            for token in right.tokenize(word)
        ]

    return _words(right, divide)


# ---- WordLevel


@component("model", WordLevel, tokenizes("word_level", "they"))
def tokenize_word_level_unknown_dropped(right: WordLevel) -> Any:
    """A word that is no token is left out."""

    def rule(model: Any, word: str) -> list[Token]:
        return right.tokenize(word) if word in right.vocab else []

    return Model(right, rule)


@component("model", WordLevel, tokenizes("word_level", "they"))
def tokenize_word_level_unknown_string(right: WordLevel) -> Any:
    """The string of an unknown token is the word, not <unk>."""

    def rule(model: Any, word: str) -> list[Token]:
        return [token._replace(string=word) for token in right.tokenize(word)]

    return Model(right, rule)


@component("model", WordLevel, tokenizes("word_level", "AND"))
def tokenize_word_level_lower_case(right: WordLevel) -> Any:
    """A word that is no token is looked up in lower case."""

    def rule(model: Any, word: str) -> list[Token]:
        return right.tokenize(word if word in right.vocab else word.lower())

    return Model(right, rule)


@component("model", Unigram, tokenizes("unigram_sums", "abc"))
def tokenize_unigram_sums_in_32_bits(right: Unigram) -> Any:
    """Sums of scores are rounded to 32 bits, as in SentencePiece."""
    return _scored(lambda model: model.unknown_score, precision="f")(right)
