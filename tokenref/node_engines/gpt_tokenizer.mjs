// gpt-tokenizer as an engine under test: https://github.com/niieani/gpt-tokenizer.
//
//     npm install --prefix DIR gpt-tokenizer@4.0.0
//     tokenref check --cmd 'node gpt_tokenizer.mjs DIR/node_modules'
//
// What it can express
//     Its own cl100k_base and o200k_base, which are recognised by their digest. Other
//     vocabularies by concatenation, whose ids are their ranks, are given to the constructor
//     of its class GptEncoding, which is private in TypeScript: with its own patterns where
//     a vocabulary has a published one, else with the same pattern in JavaScript's words.
//     Text without a pattern is one piece, as by `[^]+`. It always takes a piece whole that
//     is a token. There is no decoding to bytes, and none that refuses what is not UTF-8.
// What it answers
//     `encode`, `countTokens` and `decode` are the public functions. What `decode` could not
//     decode it keeps for its next call; so its decoder is emptied before each question,
//     or the answers would depend on the order of the questions. A `session` shows it.
// What it refuses
//     Disallowed special text, bytes without a token and unknown ids, each by an `Error` with
//     a message of its own.

import { Skipped, nameOf, patternOf, ranksOf, refusing, serve } from "./serve.mjs";

const LONGEST = 10_000; // characters of a piece

function session(required, encoding, vocabulary) {
  const { decoder } = required("gpt-tokenizer/BytePairEncodingCore");
  const nothingSpecial = { disallowedSpecial: new Set() };
  const encode = (text, options) => refusing(REFUSALS, () => encoding.encode(text, options));
  const set = (texts) => (texts === "all" ? new Set(vocabulary.special_tokens.map(([text]) => text)) : new Set(texts));
  return {
    longest: LONGEST,
    pieces: encoding.bytePairEncodingCoreProcessor.tokenSplitRegex,
    encode: (text) => encode(text, nothingSpecial),
    count: (text) => refusing(REFUSALS, () => encoding.countTokens(text, nothingSpecial)),
    special(text, allowed, disallowed) {
      skipOtherSpecials(text, encoding, vocabulary);
      // Where all are allowed, "all" as disallowed means none; it refuses the two together.
      const rest = allowed === "all" ? new Set() : "all";
      const options = { allowedSpecial: set(allowed), disallowedSpecial: disallowed === "all" ? rest : set(disallowed) };
      return encode(text, options);
    },
    decode: (ids) => refusing(REFUSALS, () => encoding.decode(ids)),
    begin: () => decoder.decode(),
  };
}

const REFUSALS = {
  "Disallowed special token found": "DISALLOWED_SPECIAL",
  "The byte-pair encoding does not contain a value for": "MISSING_BYTE",
  "is not in the byte pair encoder.": "UNKNOWN_ID",
};

// Its encodings have more special tokens than those of tiktoken.
function skipOtherSpecials(text, { specialTokensSet }, { special_tokens: own }) {
  for (const special of specialTokensSet) {
    if (text.includes(special) && !own.some(([known]) => known === special)) throw new Skipped(`has a special token ${special} besides`);
  }
}

function textOrBytes(bytes) {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return [...bytes];
  }
}

await serve("gpt-tokenizer", (required) => ({
  load(vocabulary, digest) {
    const name = nameOf(digest);
    if (name !== undefined) return session(required, required(`gpt-tokenizer/encoding/${name}`).default, vocabulary);
    const { own, pattern } = patternOf(vocabulary.pattern);
    const published = own && required("gpt-tokenizer/encodingParams/constants")[`${own.split("_")[0].toUpperCase()}_TOKEN_SPLIT_REGEX`];
    const { GptEncoding } = required("gpt-tokenizer/GptEncoding");
    const bytePairRankDecoder = [];
    for (const [hex, id] of ranksOf(vocabulary, 1_000_000)) bytePairRankDecoder[id] = textOrBytes(Buffer.from(hex, "hex"));
    const encoding = new GptEncoding({
      bytePairRankDecoder,
      specialTokensEncoder: new Map(vocabulary.special_tokens),
      tokenSplitRegex: published ?? new RegExp(pattern, "gu"),
    });
    return session(required, encoding, vocabulary);
  },
}));
