// An engine that tokenref can judge. Put your own code where it says YOUR CODE.
//
// tokenref writes one JSON message per line to standard input; each is answered by
// one line on standard output. Whatever is printed otherwise goes to standard error.

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

const PROFILES = { encode: ["definition", "tiktoken"], top_k: ["standard"] };
const LONGEST = 2000; // bytes of the longest text: the example takes quadratic time

// The question has no answer: a code from fixtures/README.md, and a message.
class Refused extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

// This engine cannot be asked that; the message is the reason.
class Skipped extends Error {}

// ---- YOUR CODE: the two functions below are examples. Call your own engine instead. ----

// Returns the tokens of a text: of all neighbours the lowest rank is merged first.
function encode(vocabulary, text) {
  const { ids, ranks, wholePiece } = vocabulary;
  const hex = text.toString("hex");
  if (wholePiece && ids.has(hex)) return [ids.get(hex)];
  const parts = hex.match(/../g) ?? [];
  for (const part of parts) {
    if (!ids.has(part)) throw new Refused("MISSING_BYTE", `no token is the byte ${part}`);
  }
  for (;;) {
    let best = -1;
    let lowest = Infinity;
    for (let at = 0; at + 1 < parts.length; at++) {
      const rank = ranks.get(parts[at] + parts[at + 1]);
      if (rank < lowest) [best, lowest] = [at, rank];
    }
    if (best < 0) return parts.map((part) => ids.get(part));
    parts.splice(best, 2, parts[best] + parts[best + 1]);
  }
}

// Returns the k tokens of the largest number; of equals, those of the lowest ids.
function topK(row, impossible, k) {
  const ids = [...row.keys()].filter((token) => row[token] > impossible);
  ids.sort((a, b) => (row[a] === row[b] ? a - b : row[b] > row[a] ? 1 : -1));
  return ids.slice(0, k).sort((a, b) => a - b);
}

// ---- What follows is the protocol. It rarely needs a change. ----

// Reads a vocabulary file, or says why this engine has none such.
function readVocabulary(path) {
  const plain = JSON.parse(readFileSync(path, "ascii"));
  for (const [name, only] of Object.entries({ rule: "concatenation", pattern: null, normalization: null })) {
    if (plain[name] !== only) throw new Skipped(`has no ${name} ${JSON.stringify(plain[name])}`);
  }
  for (const [, id, rank] of plain.tokens) {
    if (!Number.isSafeInteger(id) || !Number.isSafeInteger(rank)) throw new Skipped("has ids of 53 bits only");
  }
  return {
    ids: new Map(plain.tokens.map(([hex, id]) => [hex, id])),
    ranks: new Map(plain.tokens.map(([hex, , rank]) => [hex, rank])),
    wholePiece: plain.whole_piece,
  };
}

// Returns the bytes of a text, which is given in one of three ways.
function readText({ text, bytes, recipe }) {
  if (recipe !== undefined) {
    const length = recipe.before.length + recipe.unit.length * recipe.times + recipe.after.length;
    if (length > 2 * LONGEST) throw new Skipped(`takes no text of more than ${LONGEST} bytes`);
    bytes = recipe.before + recipe.unit.repeat(recipe.times) + recipe.after;
  }
  const content = text !== undefined ? Buffer.from(text, "utf8") : Buffer.from(bytes, "hex");
  if (content.length > LONGEST) throw new Skipped(`takes no text of more than ${LONGEST} bytes`);
  return content;
}

// Returns the numbers of a row: big-endian hexadecimal digits, or a recipe for them.
function readFloats(floats) {
  if ("gen" in floats) {
    const row = [];
    const step = { f64: 2 ** -20, f32: 2 ** -20, f16: 2 ** -7, bf16: 2 ** -4 }[floats.dtype];
    const cut = (word) => BigInt.asUintN(64, word);
    let state = BigInt(floats.seed);
    for (let at = 0; at < floats.n; at++) {
      state = cut(state + 0x9e3779b97f4a7c15n); // SplitMix64
      let word = cut((state ^ (state >> 30n)) * 0xbf58476d1ce4e5b9n);
      word = cut((word ^ (word >> 27n)) * 0x94d049bb133111ebn);
      row.push(Number((word ^ (word >> 31n)) % BigInt(floats.span)) * step);
    }
    for (const [place, digits] of floats.put ?? []) [row[place]] = readFloats({ [floats.dtype]: digits });
    return row;
  }
  const [[dtype, digits]] = Object.entries(floats);
  const bytes = Buffer.from(digits, "hex");
  const read = {
    f64: (at) => bytes.readDoubleBE(8 * at),
    f32: (at) => bytes.readFloatBE(4 * at),
    f16: (at) => half(bytes.readUInt16BE(2 * at)),
    bf16: (at) => Buffer.from([bytes[2 * at], bytes[2 * at + 1], 0, 0]).readFloatBE(0), // the upper half of an f32
  }[dtype];
  const size = { f64: 8, f32: 4, f16: 2, bf16: 2 }[dtype];
  return Array.from({ length: bytes.length / size }, (_, at) => read(at));
}

// Returns the number that the 16 bits of an IEEE half stand for.
function half(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0x1f) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? (1024 + fraction) * 2 ** (exponent - 25) : fraction * 2 ** -24);
}

// Returns the answer of one case.
function answer(op, question, vocabulary) {
  if (op === "encode") {
    if (vocabulary === undefined) throw new Skipped("no vocabulary is loaded");
    return { ids: encode(vocabulary, readText(question)) };
  }
  if (op === "top_k") {
    const row = readFloats(question.probs ?? question.logits);
    const lowest = "probs" in question ? 0 : -Infinity;
    const allowed = row.every((number) => number >= lowest && number < Infinity);
    if (!allowed || !row.some((number) => number > lowest)) {
      throw new Refused("INVALID_ROW", "no token is possible, or a number is not allowed");
    }
    const { k, least = 1 } = question.params;
    if (![k, least].every((count) => Number.isInteger(count) && count >= 1)) {
      throw new Refused("INVALID_PARAMETER", `k must be a whole number from 1, got ${JSON.stringify(k)}`);
    }
    return { keep: topK(row, lowest, Math.max(k, least)) };
  }
  throw new Skipped(`has no operation ${op}`);
}

// Returns what became of a call: exactly one of ok, err, skip, crash.
function guarded(call) {
  try {
    return { ok: call() };
  } catch (error) {
    if (error instanceof Refused) return { err: { code: error.code, msg: error.message } };
    if (error instanceof Skipped) return { skip: { reason: error.message } };
    return { crash: { msg: String(error) } };
  }
}

console.log = console.info = console.debug = console.error; // a stray print does no harm
const vocabularies = new Map();
for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  if (message.cmd === "bye") process.exit();
  let reply;
  if (message.cmd === "hello") {
    const impl = { name: "my-engine", version: "0.1", language: "javascript" };
    const ops = Object.fromEntries(Object.entries(PROFILES).map(([op, profiles]) => [op, { profiles }]));
    reply = { proto: 1, impl, ops };
  } else if (message.cmd === "load") {
    const outcome = guarded(() => readVocabulary(message.path));
    vocabularies.clear(); // only the last one is kept
    vocabularies.set(message.vocab, outcome.ok);
    reply = { id: message.id, ...("ok" in outcome ? { ok: {} } : outcome) };
  } else {
    const vocabulary = vocabularies.get(message.vocab);
    const results = message.cases.map((one) => ({
      k: one.k,
      ...guarded(() => answer(message.op, one.in, vocabulary)),
    }));
    reply = { id: message.id, results };
  }
  process.stdout.write(JSON.stringify(reply) + "\n");
}
