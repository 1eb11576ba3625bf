// The protocol of docs/protocol.md for packages of npm, and what their adapters have in common.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";

// The question has no answer: a code of fixtures/README.md.
class Refused extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

// The engine cannot be asked that.
export class Skipped extends Error {}

// What may be asked, and by whose rules. Where a text is not UTF-8, JavaScript cannot say it.
const OPS = Object.fromEntries(
  ["encode", "count", "special", "decode", "session"].map((op) => [op, { profiles: ["definition", "tiktoken"] }]),
);

// Serves an adapter, `open(required, version)`, of the package in the folder given as the program's
// argument. It returns {load(vocabulary, digest)}, which returns {encode, count, special, decode, pieces,
// longest}, and maybe {begin}, which makes the package forget what it keeps, before each question.
export async function serve(name, open) {
  const print = process.stdout.write.bind(process.stdout);
  console.log = console.info = console.debug = console.error; // a stray print does no harm
  const required = createRequire(join(resolve(process.argv[2] ?? "node_modules"), name, "package.json"));
  const { version } = JSON.parse(readFileSync(required.resolve("./package.json"), "utf8"));
  const engine = open(required);
  let session;
  for await (const line of createInterface({ input: process.stdin })) {
    const message = JSON.parse(line);
    if (message.cmd === "bye") process.exit();
    const reply = { id: message.id };
    if (message.cmd === "hello") {
      const language = `JavaScript, Node ${process.versions.node}, Unicode ${process.versions.unicode}`;
      Object.assign(reply, { proto: 1, impl: { name, version, language }, ops: OPS });
    } else if (message.cmd === "load") {
      session = undefined;
      Object.assign(reply, guarded(() => load(engine, message)));
      if ("ok" in reply) [session, reply.ok] = [reply.ok, {}];
    } else {
      reply.results = message.cases.map((one) => ({
        k: one.k,
        ...guarded(() => answer(session, message.op, one.in)),
      }));
    }
    print(JSON.stringify(reply) + "\n");
  }
}

function guarded(call) {
  try {
    return { ok: call() };
  } catch (error) {
    if (error instanceof Refused) return { err: { code: error.code, msg: error.message } };
    if (error instanceof Skipped) return { skip: { reason: error.message } };
    return { crash: { msg: String(error).slice(0, 300) } };
  }
}

// Calls a package. An error whose message contains one of these texts refuses the question.
export function refusing(codes, call) {
  try {
    return call();
  } catch (error) {
    const message = String(error.message ?? error);
    const words = Object.keys(codes).find((each) => message.includes(each));
    if (words === undefined) throw error;
    throw new Refused(codes[words], message);
  }
}

export const DISALLOWED = { "The text contains a special token": "DISALLOWED_SPECIAL" };

function load(engine, message) {
  const vocabulary = JSON.parse(readFileSync(message.path, "utf8"));
  if (vocabulary.rule !== "concatenation") throw new Skipped("merges by concatenation only");
  if (vocabulary.normalization !== null) throw new Skipped("has no normalization");
  return engine.load(vocabulary, message.vocab);
}

function answer(session, op, question) {
  if (session === undefined) throw new Error("no vocabulary is loaded");
  session.begin?.();
  if (op !== "session") return call(session, op, question);
  return { answers: question.calls.map((each) => called(session, each)) };
}

// One of several calls: a refusal is its answer, and the others are asked all the same.
function called(session, { op, in: question }) {
  try {
    return call(session, op, question);
  } catch (error) {
    if (error instanceof Refused) return { code: error.code };
    throw error;
  }
}

function call(session, op, question) {
  if (op === "decode") return decode(session, question);
  const text = textOf(question);
  skipLongPieces(text, session);
  skipNewCharacters(text);
  if (op === "count") return { count: session.count(text) };
  const ids = op === "encode" ? session.encode(text) : session.special(text, question.allowed, question.disallowed);
  if (ids.some((id) => id === undefined)) throw new Error("it returned undefined in the place of an id");
  return { ids };
}

function decode(session, { ids, errors }) {
  if (errors !== "replace") throw new Skipped("decodes to text only, replacing what is not UTF-8");
  if (!ids.every(Number.isSafeInteger)) throw new Skipped("has numbers of 53 bits only");
  return { text: session.decode(ids) };
}

function textOf({ text, bytes, recipe }) {
  if (text !== undefined) return text;
  if (recipe !== undefined) {
    const length = recipe.before.length + recipe.unit.length * recipe.times + recipe.after.length;
    if (length > 1 << 24) throw new Skipped("is not asked for texts of more than 8 MB");
    bytes = recipe.before + recipe.unit.repeat(recipe.times) + recipe.after;
  }
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Buffer.from(bytes, "hex"));
  } catch {
    throw new Skipped("takes text only");
  }
}

// Throws Skipped if one match of the session's `pieces` is longer than its `longest` characters. The packages
// merge each piece in quadratic time; a long text of short pieces is no trouble.
function skipLongPieces(text, { pieces, longest }) {
  if (text.length <= longest) return;
  for (const [piece] of text.matchAll(pieces)) {
    if (piece.length > longest) throw new Skipped(`is not asked for a piece of more than ${longest} characters: it takes quadratic time`);
  }
}

// The classes of a pattern are those of Node's own Unicode tables, which may be older than the
// records' (16.0). That is nobody's mistake, so characters that are new to it are not asked for.
function skipNewCharacters(text) {
  const [unknown] = text.match(/\p{Cn}/u) ?? [];
  if (unknown !== undefined && Number.parseFloat(process.versions.unicode) < 16) {
    const code = unknown.codePointAt(0).toString(16).toUpperCase();
    throw new Skipped(`this Node has the tables of Unicode ${process.versions.unicode}, without U+${code}`);
  }
}

const NAMED = {
  "86601572f6b9ef999b990a20537772e792962ae3e782ea04473276e5eaf93667": "cl100k_base",
  "5305ee36fb539f59f54a84a1fae9408ab88e1b72425ec470109e1c1853fe996b": "o200k_base",
};

// Returns the name of a published vocabulary, or undefined.
export function nameOf(digest) {
  return NAMED[digest.replace("sha256:", "")];
}

// Which of the published patterns a pattern is, by its sha256; both spellings of cl100k's.
const PATTERNS = {
  f021c3d976978e62: "cl100k_base",
  d98f9631be1e9607: "cl100k_base",
  "2d1b8dc11e89af71": "o200k_base",
  bf51d578af571878: "r50k_base",
};

// Patterns that the packages do not have, as their users must write them.
const WORD = String.raw`[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]`;
const WRITTEN = {
  "[a-z]+": "[a-z]+",
  "a+$|a|\\n": "a+$|a|\\n",
  "\\w+|\\W": `${WORD}+|${WORD.replace("[", "[^")}`,
};

// Returns {own: NAME} where a pattern is that of a published vocabulary, or {pattern: ...}.
export function patternOf(pattern) {
  if (pattern === null) return { pattern: "[^]+" };
  const own = PATTERNS[createHash("sha256").update(pattern).digest("hex").slice(0, 16)];
  if (own !== undefined) return { own };
  if (pattern in WRITTEN) return { pattern: WRITTEN[pattern] };
  throw new Skipped(`has no pattern ${pattern}`);
}

// Throws Skipped unless the ids are the ranks, and small enough.
export function ranksOf(vocabulary, most) {
  const ranks = new Map();
  for (const [hex, id, rank] of vocabulary.tokens) {
    if (id !== rank) throw new Skipped("has no ids besides the ranks");
    if (!(id < most)) throw new Skipped(`is not asked for ids from ${most}`);
    ranks.set(hex, id);
  }
  if (!vocabulary.whole_piece && deadToken(ranks)) {
    throw new Skipped("always takes a piece that is a token whole, which matters for dead tokens");
  }
  return ranks;
}

// Says whether there is a token that its own bytes are not merged to.
function deadToken(ranks) {
  return [...ranks.keys()].some((hex) => {
    const parts = hex.match(/../g);
    for (;;) {
      let best = -1;
      for (let at = 0; at + 1 < parts.length; at++) {
        const joined = ranks.get(parts[at] + parts[at + 1]);
        if (joined !== undefined && (best < 0 || joined < ranks.get(parts[best] + parts[best + 1]))) best = at;
      }
      if (best < 0) return parts.length > 1;
      parts.splice(best, 2, parts[best] + parts[best + 1]);
    }
  });
}
