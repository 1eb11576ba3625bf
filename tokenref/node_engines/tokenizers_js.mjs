// Reads calls of @huggingface/tokenizers from standard input, one per line, and answers them, for
// tokenref/engines/tokenizers_js.py: [content of a new tokenizer.json or null, key, method, arguments].

import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const folder = join(resolve(process.argv[2]), "@huggingface", "tokenizers");
const { exports: ways } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
const main = ways?.["."]?.node?.import?.default ?? ways?.["."]?.import?.default ?? ways?.["."]?.import ?? "dist/tokenizers.mjs";
const { Tokenizer } = await import(pathToFileURL(join(folder, main)));

const kept = new Map();

function answer([content, key, method, given]) {
  if (content !== null) kept.set(key, new Tokenizer(JSON.parse(content), {}));
  const tokenizer = kept.get(key);
  if (method === "encode") {
    const [text, pair, added] = given;
    return tokenizer.encode(text, { ...(pair !== null && { text_pair: pair }), add_special_tokens: added }).ids;
  }
  if (method === "decode") return tokenizer.decode(given[0], { skip_special_tokens: given[1], clean_up_tokenization_spaces: false });
  return null;
}

for await (const line of createInterface({ input: process.stdin })) {
  let reply;
  try {
    reply = { ok: answer(JSON.parse(line)) };
  } catch (error) {
    reply = { error: String(error).slice(0, 300) };
  }
  process.stdout.write(JSON.stringify(reply) + "\n");
}
