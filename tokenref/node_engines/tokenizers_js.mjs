// Reads calls of @huggingface/tokenizers from standard input, one per line, and answers them, as
// tokenref/engines/json_process.py does for other engines. A call is
// [keys of tokenizers to keep, key, file of a new tokenizer or null, method, arguments, options].

import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const folder = join(resolve(process.argv[2]), "@huggingface", "tokenizers");
const { exports: ways } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
const main = ways?.["."]?.node?.import?.default ?? ways?.["."]?.import?.default ?? ways?.["."]?.import ?? "dist/tokenizers.mjs";
const { Tokenizer } = await import(pathToFileURL(join(folder, main)));

const opened = new Map();

function answer([kept, key, file, method, given, { added, skip }]) {
  for (const each of opened.keys()) if (!kept.includes(each)) opened.delete(each);
  if (file !== null) opened.set(key, new Tokenizer(JSON.parse(Buffer.from(file, "latin1")), {}));
  const tokenizer = opened.get(key);
  if (method === "encode") return tokenizer.encode(given[0], { add_special_tokens: added }).ids;
  if (method === "encode_pair") return tokenizer.encode(given[0], { text_pair: given[1], add_special_tokens: added }).ids;
  if (method === "decode" || method === "text") return tokenizer.decode(given[0], { skip_special_tokens: skip, clean_up_tokenization_spaces: false });
  return null;
}

for await (const line of createInterface({ input: process.stdin })) {
  let reply;
  try {
    reply = ["", false, answer(JSON.parse(line))];
  } catch (error) {
    reply = ["JavaScriptError", false, String(error).slice(0, 300)];
  }
  process.stdout.write(JSON.stringify(reply) + "\n");
}
