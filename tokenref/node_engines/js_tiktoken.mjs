// js-tiktoken as an engine under test: https://github.com/dqbd/tiktoken, in its folder js.
//
//     npm install --prefix DIR js-tiktoken@1.0.21
//     tokenref check --cmd 'node js_tiktoken.mjs DIR/node_modules'
//
// What it can express
//     Its own cl100k_base and o200k_base, which are recognised by their digest, and other
//     vocabularies by concatenation whose ids are their ranks: with the pattern of its own
//     encodings where a vocabulary has a published one, else with the same pattern in
//     JavaScript's words. Text without a pattern is one piece, as by `[^]+`. It always takes
//     a piece whole that is a token. It decodes to text only, and refuses nothing there.
// What it answers
//     `encode` and `decode` of its class Tiktoken. Counting is the length of the former.
// What it refuses
//     Disallowed special text, by an `Error` with a message of its own.

import { DISALLOWED, nameOf, patternOf, ranksOf, refusing, serve } from "./serve.mjs";

const LONGEST = 1000; // characters of a piece

await serve("js-tiktoken", (required) => ({
  load(vocabulary, digest) {
    const { Tiktoken } = required("js-tiktoken/lite");
    const published = (name) => required(`js-tiktoken/ranks/${name}`).default ?? required(`js-tiktoken/ranks/${name}`);
    const name = nameOf(digest);
    if (name !== undefined) return session(new Tiktoken(published(name)));
    const { own, pattern } = patternOf(vocabulary.pattern);
    const lines = [...ranksOf(vocabulary, 2 ** 53)].map(([hex, id]) => `! ${id} ${Buffer.from(hex, "hex").toString("base64")}`);
    const encoding = new Tiktoken({
      pat_str: own === undefined ? pattern : published(own).pat_str,
      special_tokens: Object.fromEntries(vocabulary.special_tokens),
      bpe_ranks: lines.join("\n"),
    });
    return session(encoding);
  },
}));

function session(encoding) {
  return {
    longest: LONGEST,
    pieces: new RegExp(encoding.patStr, "gu"),
    encode: (text) => encoding.encode(text, [], []),
    count: (text) => encoding.encode(text, [], []).length,
    special: (text, allowed, disallowed) => refusing(DISALLOWED, () => encoding.encode(text, allowed, disallowed)),
    decode: (ids) => encoding.decode(ids),
  };
}
