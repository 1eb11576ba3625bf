// Run the findings about gpt-tokenizer. Each function returns the expected and the actual output.
import * as o200k from "gpt-tokenizer";
import * as cl100k from "gpt-tokenizer/encoding/cl100k_base";

const outcome = (action) => {
  try {
    return JSON.stringify(action());
  } catch (error) {
    return `${error.name}: ${error.message}`;
  }
};
const end = "<|endoftext|>";

const FINDINGS = {
  // The first use of the decoder in this process.
  decode_byte_order_mark: () => [`"\ufeff"`, outcome(() => cl100k.decode([3305]))],
  encode_byte_order_mark: () => ["[3305]", outcome(() => cl100k.encode("\ufeff"))],
  special_twice: () => [
    "[100257,100257]",
    outcome(() => cl100k.encode(end + end, { allowedSpecial: "all" })),
  ],
  special_after_text: () => [
    "[64,100257]",
    outcome(() => cl100k.encode("a" + end, { allowedSpecial: "all" })),
  ],
  readme_allowed: () => [
    "[8538,2991,220,100276]",
    outcome(() =>
      cl100k.encode("Some Text <|endofprompt|>", {
        allowedSpecialTokens: new Set(["<|endofprompt|>"]),
      }),
    ),
  ],
  readme_disallowed: () => [
    "an error",
    outcome(() => o200k.encode(`Some Text ${end}`, { disallowedSpecial: new Set([end]) })),
  ],
  disallowed_precedence: () => [
    "an error",
    outcome(() =>
      o200k.encode(end, { allowedSpecial: new Set([end]), disallowedSpecial: new Set([end]) }),
    ),
  ],
  half_a_character: () => [
    `["\ufffd","a"]`,
    outcome(() => [cl100k.decode([9468]), cl100k.decode([64])]),
  ],
  white_space: () => ["[220,126,227,15]", outcome(() => cl100k.encode(" \u00850"))],
  end_of_prompt: () => [
    "[200018]",
    outcome(() => o200k.encode("<|endofprompt|>", { allowedSpecial: "all" })),
  ],
};

for (const [name, finding] of Object.entries(FINDINGS)) {
  const lines = [name, ...finding()].join("\n\t");
  console.log(lines.replace(/[^\n\t -~]/g, (one) => `\\u${one.charCodeAt(0).toString(16)}`));
}
