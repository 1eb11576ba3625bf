// Run the findings about @huggingface/tokenizers, the tokenizers of transformers.js.

import { Tokenizer } from "@huggingface/tokenizers";

const outcome = (call) => {
  try {
    return JSON.stringify(call());
  } catch (error) {
    return String(error);
  }
};

// Returns the tokenizer of some words, in the order of their ids, with other parts of the file.
const tokenizer = (words, { type = "BPE", ...parts } = {}) => {
  const vocab = Object.fromEntries(words.map((word, id) => [word, id]));
  const model = { type, vocab, merges: [], unk_token: type === "BPE" ? null : "<unk>" };
  const absent = { normalizer: null, pre_tokenizer: null, post_processor: null, decoder: null };
  return new Tokenizer({ version: "1.0", added_tokens: [], ...absent, model, ...parts }, {});
};

const ids = (made, text, options) => made.encode(text, { add_special_tokens: true, ...options }).ids;

function delimiter() {
  const pre_tokenizer = { type: "CharDelimiterSplit", delimiter: "-" };
  return ["[0,1]", outcome(() => ids(tokenizer(["a", "b", "-"], { pre_tokenizer }), "a-b"))];
}

function byte_level_pair() {
  const post_processor = { type: "ByteLevel", add_prefix_space: false, trim_offsets: false, use_regex: true };
  return ["[0,1]", outcome(() => ids(tokenizer(["a", "b"], { post_processor }), "a", { text_pair: "b" }))];
}

function template_ids() {
  const single = [{ SpecialToken: { id: "s", type_id: 0 } }, { Sequence: { id: "A", type_id: 0 } }];
  const special_tokens = { s: { id: "s", ids: [1, 2], tokens: ["b", "c"] } };
  const post_processor = { type: "TemplateProcessing", single, pair: single, special_tokens };
  return ["[1,2,0]", outcome(() => ids(tokenizer(["a", "b", "c"], { post_processor }), "a"))];
}

function truncation() {
  const cut = { max_length: 1, strategy: "LongestFirst", stride: 0, direction: "Right" };
  return ["[0]", outcome(() => ids(tokenizer(["a"], { truncation: cut }), "aaa"))];
}

for (const finding of [delimiter, byte_level_pair, template_ids, truncation]) {
  console.log([finding.name, ...finding()].join("\n\t"));
}
