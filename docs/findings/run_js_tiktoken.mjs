// Run the findings about js-tiktoken. Each function returns the expected and the actual output.
import { Tiktoken, getEncoding } from "js-tiktoken";

const cl100k = getEncoding("cl100k_base");
const outcome = (action) => {
  try {
    return JSON.stringify(action());
  } catch (error) {
    return `${error.name}: ${error.message}`;
  }
};
const small = (tokens, special_tokens = {}) =>
  new Tiktoken({
    pat_str: "[\\s\\S]+",
    bpe_ranks: ["!", 0, ...tokens.map((one) => Buffer.from(one).toString("base64"))].join(" "),
    special_tokens,
  });

const FINDINGS = {
  lost_byte: () => ["an error", outcome(() => small(["a", "b", "ab"]).encode("axb"))],
  undefined_id: () => ["an error", outcome(() => small(["a"]).encode("x"))],
  unknown_id: () => ["an error", outcome(() => cl100k.decode([64, 100300]))],
  byte_order_mark: () => [`"\ufeffx"`, outcome(() => cl100k.decode(cl100k.encode("\ufeffx")))],
  white_space: () => ["[220,76880]", outcome(() => cl100k.encode("  \ufeff"))],
  next_line: () => ["[220,126,227,15]", outcome(() => cl100k.encode(" \u00850"))],
};

for (const [name, finding] of Object.entries(FINDINGS)) {
  const lines = [name, ...finding()].join("\n\t");
  console.log(lines.replace(/[^\n\t -~]/g, (one) => `\\u${one.charCodeAt(0).toString(16)}`));
}
