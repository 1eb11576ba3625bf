// The npm package tiktoken as an engine under test: https://github.com/dqbd/tiktoken, in its folder wasm.
//
//     npm install --ignore-scripts --prefix DIR tiktoken@1.0.22
//     tokenref check --cmd 'node tiktoken_wasm.mjs DIR/node_modules'
//
// What it can express
//     Vocabularies by concatenation whose ids are their ranks, of at most 32 bits, with a pattern
//     in tiktoken's dialect: it is tiktoken's Rust code, compiled to WebAssembly. Text without a
//     pattern is one piece, as by `(?s:.+)`. It always takes a piece whole that is a token.
// What it answers
//     `encode` and `decode` of its class Tiktoken. Counting is the length of the former. `decode`
//     returns bytes, which are read as text here.
// What it refuses
//     Disallowed special text, by an `Error` with a message of its own. After a panic its object
//     cannot be used any more, so a new one is made.

import { DISALLOWED, Skipped, ranksOf, refusing, serve } from "./serve.mjs";

const LONGEST = 10_000; // characters of a piece

await serve("tiktoken", (required) => ({
  load(vocabulary) {
    const { Tiktoken } = required("tiktoken/lite");
    const lines = [...ranksOf(vocabulary, 2 ** 32)].map(([hex, id]) => `${Buffer.from(hex, "hex").toString("base64")} ${id}`);
    const specials = Object.fromEntries(vocabulary.special_tokens);
    // JavaScript cannot match its pattern. Patterns cut at least between words and spaces.
    const pieces = vocabulary.pattern === null ? /[^]+/gu : /\s+|\S+/gu;
    return session(() => new Tiktoken(lines.join("\n"), specials, vocabulary.pattern ?? "(?s:.+)"), pieces);
  },
}));

function session(made, pieces) {
  let encoding = made();
  const asked = (call) => {
    try {
      return call(encoding);
    } catch (error) {
      if (error instanceof WebAssembly.RuntimeError) encoding = made();
      throw error;
    }
  };
  const ordinary = (text) => asked((each) => Array.from(each.encode_ordinary(text)));
  return {
    longest: LONGEST,
    pieces,
    encode: ordinary,
    count: (text) => ordinary(text).length,
    special: (text, allowed, disallowed) => refusing(DISALLOWED, () => asked((each) => Array.from(each.encode(text, allowed, disallowed)))),
    decode(ids) {
      if (!ids.every((id) => id >= 0 && id < 2 ** 32)) throw new Skipped("takes ids of 32 bits only");
      const bytes = asked((each) => each.decode(Uint32Array.from(ids)));
      return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
    },
  };
}
