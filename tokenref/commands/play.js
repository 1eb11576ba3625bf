"use strict";

// The page asks the program at every change. Its answers are HTML in which all text is escaped.

const at = (id) => document.getElementById(id);
const VIEWS = ["tokens", "sampling", "speculative", "penalties"];
const SIZES = ["variant", "strength", "window", "buffer"];
const ROWS = ["row", "target", "draft"];
const DRAFTS = ["target", "draft", "before", "drafted", "accepted", "replaced", "further"];
const FIELDS = ["vocabulary", "text", "encoder", "left", "right", "engine", "other", "row", "history", "uniform", ...DRAFTS, "past", ...SIZES];
const COMMON = ["temperature", "temp", "top_k", "top_p", "min_p", "repetition_penalty", "repeat_penalty"];
const LONGEST = 20000, LONGEST_ROW = 200000;
const EXAMPLE = ["text", "left", "right"]; // the fields with an example for each small vocabulary
const EXAMPLES = { book: ["abacb", "ac", "b"], odd: ["abcd", "abc", "d"] }; // a text and two neighbours
const ABOUT = { book: "book: nine tokens of a, b and c", odd: "odd: here the fast test of two neighbours fails" };
const FIRST = { top_k: "6", top_p: "0.9" }; // with these, the first row loses tokens
const settings = {};
const folds = new Map(); // the stages that the reader has opened or closed
const chains = {}; // the stages of an engine in order, each with its place in the engine's own, and whether it is on
let view = "tokens", piece = "", choices = {}, asked = 0, waiting = 0;
let steps = null, wanted = null; // the shown steps, and the one to go to when they arrive
let whole = false; // whether the reader went to the last step: then it is also shown of the next text
let unknown = ""; // what the address chooses and no list has
let answered = ""; // the fields as they were at the last question

const most = (name) => ROWS.includes(name) ? LONGEST_ROW : LONGEST;
const tooLong = (name, text) => text.length > most(name) && [...text].length > most(name);

async function answer(path, question) {
  const wrong = Object.keys(question).find((name) => tooLong(name, question[name]));
  if (wrong) throw new Error(`${wrong} must have at most ${most(wrong).toLocaleString("en")} characters, `
    + `got ${question[wrong].length.toLocaleString("en")}`);
  const body = JSON.stringify(question);
  if (globalThis.program) return globalThis.program(path, body); // Python runs in this browser
  const response = await fetch(path, { method: "POST", body });
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  return text;
}

function chosenPiece(shown) { // the one that is open, or the first with several tokens
  const buttons = [...element("template", { innerHTML: shown }).content.querySelectorAll("[data-piece]")];
  const open = buttons.find((button) => button.dataset.piece === piece)
    || buttons.find((button) => "first" in button.dataset);
  return open ? open.dataset.piece : "";
}

function say(sentence, isOld = Boolean(sentence)) {
  at("wrong").hidden = !sentence;
  at("wrong").textContent = sentence;
  for (const id of ["answer", "steps"]) at(id).classList.toggle("old", isOld); // of an earlier question
}

async function refresh() {
  const number = ++asked;
  answered = typed();
  remember();
  for (const each of document.querySelectorAll("input + output")) each.textContent = each.previousElementSibling.value;
  at("set").textContent = Object.entries(settings).filter(([, value]) => value).map((each) => each.join(" ")).join(", ");
  try {
    const value = (id) => at(id).value, pair = value("encoder") === "neighbours";
    at("pair").hidden = !pair;
    const values = (ids) => Object.fromEntries(ids.map((id) => [id, value(id)]));
    const [path, question] = {
      tokens: () => ["tokens", { vocabulary: value("vocabulary"), text: value("text") }],
      sampling: () => ["sample", { engine: value("engine"), other: value("other"), row: value("row"),
        history: value("history"), uniform: value("uniform"), settings, chains: applied() }],
      speculative: () => ["speculative", values(DRAFTS)],
      penalties: () => ["penalties", values(["past", ...SIZES])],
    }[view]();
    const shown = await answer(path, question);
    if (number !== asked) return; // a newer question is on its way
    if (view === "tokens") piece = chosenPiece(shown);
    let said = unknown;
    const walked = view === "tokens" && (piece || pair) ? await answer("merges", { vocabulary: value("vocabulary"),
      piece, encoder: value("encoder"), left: value("left"), right: value("right") })
      .catch((error) => { said = error.message; return ""; }) : ""; // the tokens are shown without the steps
    if (number !== asked) return; // a newer question is on its way
    at("answer").innerHTML = shown;
    fade();
    for (const each of at("answer").querySelectorAll("[data-piece]"))
      each.setAttribute("aria-pressed", each.dataset.piece === piece);
    if (steps !== walked || view !== "tokens") begin(walked);
    say(said, false);
  } catch (error) {
    if (number === asked) say(error.message);
  }
  document.body.dataset.answered = number;
}

// ---- the steps of a piece, of which those behind the slider are hidden; in Present also the stages, one at a time

function begin(walked) {
  steps = walked;
  at("steps").innerHTML = walked;
  for (const each of at("answer").querySelectorAll(".fold")) {
    each.dataset.own ??= each.open;
    each.open = presenting() || (folds.get(stageOf(each)) ?? each.dataset.own === "true");
  }
  const screens = stagesOnScreens();
  const last = Math.max(at("steps").querySelectorAll("section tr").length, screens.length) - 1;
  at("stepper").hidden = last < 1;
  at("step").max = Math.max(last, 0);
  at("step").value = wanted ?? (whole && !presenting() ? last : 0);
  wanted = null;
  walk();
}

const stageOf = (fold) => fold.querySelector(".where").textContent.split(":")[0]; // its engine and place

function stagesOnScreens() { // first why two engines differ, with the pictures; then one stage or two side by side on each
  if (view === "tokens" || !presenting()) return [];
  const found = (kinds) => [...at("answer").querySelectorAll(kinds)];
  const stages = found(".stage, .none, .draw"), wide = found(".sides").length + 1;
  const screens = stages.flatMap((_, place) => place % wide ? [] : [stages.slice(place, place + wide)])
    .filter((each) => each.some((stage) => stage.matches(".first, .earlier, :not(.idle, .none)"))); // others have no effect
  return [...found(".answer").map((each) => [each, ...found(".first")]), ...screens];
}

function walk(isMoved) { // whether the reader goes to a step
  const step = Number(at("step").value), last = Number(at("step").max), isLast = step === last;
  at("at").textContent = `${step} of ${last}`;
  if (view === "tokens" && !presenting() && last) whole = isLast;
  at("all").textContent = isLast ? "From the start" : "To the end";
  at("steps").querySelectorAll("section tr").forEach((row, number) => {
    row.hidden = number > step;
    row.classList.toggle("now", number === step);
    if (number === step && (isMoved || presenting())) row.scrollIntoView({ block: "nearest" });
  });
  at("answer").hidden = presenting() && view === "tokens" && !isLast; // it is the last step's
  const screens = stagesOnScreens(), shown = screens[step] ?? [];
  for (const each of at("answer").querySelectorAll("section"))
    each.hidden = screens.length > 0 && !shown.includes(each);
  for (const each of at("answer").querySelectorAll(".sides")) each.hidden = !each.querySelector("section:not([hidden])");
  at("back").disabled = step === 0;
  at("on").disabled = isLast;
  remember();
}

const typed = () => JSON.stringify([FIELDS.map((id) => at(id).value), settings]);

function soon() {
  unknown = "";
  clearTimeout(waiting);
  waiting = setTimeout(refresh, 30);
}

// ---- the address has the whole state

function remember() {
  const state = new URLSearchParams({ view });
  for (const id of FIELDS) if (!tooLong(id, at(id).value)) state.set(id, at(id).value);
  if (presenting()) state.set("present", 1);
  if (theme()) state.set("theme", theme());
  if (piece) state.set("piece", piece);
  const open = at("step").value === "0" && !presenting(); // as the page begins
  const step = wanted ?? (open ? null : at("step").value);
  if (step !== null) state.set("step", step);
  for (const [name, value] of Object.entries(settings)) if (value) state.set("p." + name, value);
  for (const [engine, stages] of Object.entries(chains))
    state.set("c." + engine, stages.map(({ own, on }) => (on ? "" : "!") + own).join(","));
  history.replaceState(null, "", "#" + state);
}

function choose(id, value) { // what a list does not have leaves it as it is, and is said
  const field = at(id), before = field.value;
  field.value = value;
  if (field.value || !value || field.tagName !== "SELECT") return;
  field.value = before;
  unknown = `${id} must be one of ${[...field.options].map((each) => each.value).filter(Boolean).join(", ")}, got ${value.slice(0, 40)}`;
}

function recall() {
  const state = new URLSearchParams(location.hash.slice(1));
  unknown = "";
  for (const id of FIELDS) if (state.has(id)) choose(id, state.get(id));
  exemplify(EXAMPLE.filter((id) => !state.has(id)));
  present(state.has("present"));
  paint(state.get("theme") || "");
  piece = state.get("piece") || "";
  wanted = state.get("step");
  steps = null;
  whole = false;
  for (const name of Object.keys(settings)) delete settings[name];
  for (const name of Object.keys(chains)) delete chains[name];
  if (!state.has("view")) Object.assign(settings, FIRST);
  for (const [name, value] of state) {
    if (name.startsWith("p.")) settings[name.slice(2)] = value;
    if (name.startsWith("c.")) chains[name.slice(2)] = value.split(",")
      .map((each) => ({ own: Number(each.replace("!", "")), on: !each.startsWith("!") }));
  }
  const isWide = matchMedia("(min-width: 45rem)").matches; // elsewhere the pictures come first
  at("settings").open = isWide && Object.keys(settings).length > 0;
  at("order").open = Object.keys(chains).length > 0;
  show(VIEWS.includes(state.get("view")) ? state.get("view") : "tokens");
}

// ---- for a projector

const presenting = () => document.body.classList.contains("present");
const darkRules = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules])
  .filter((rule) => rule.media?.mediaText.includes("prefers-color-scheme"));
const theme = () => document.documentElement.dataset.theme || "";

function turn() { // the same step is shown before and after Present, which begins with the first
  present(!presenting());
  if (!presenting() && view === "tokens") wanted = at("step").value;
  begin(steps ?? "");
}

function present(on) {
  document.body.classList.toggle("present", on);
  at("present").setAttribute("aria-pressed", on);
  at("present").textContent = on ? "End (Escape)" : "Present";
}

function paint(name) { // light, dark, or as the system is
  document.documentElement.dataset.theme = name;
  for (const rule of darkRules)
    rule.media.mediaText = { "": "(prefers-color-scheme: dark)", dark: "all" }[name] || "not all";
  at("theme").textContent = isDark() ? "Light" : "Dark";
}

const isDark = () => theme() ? theme() === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;

function press(event) {
  if (event.key === "Escape" && presenting()) turn();
  const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (!move || at("stepper").hidden || event.target.closest("input, textarea, select")) return;
  event.preventDefault();
  go(move);
}

function go(move) {
  at("step").value = Number(at("step").value) + move;
  walk(true);
}

function show(name) {
  if (name !== view) steps = null;
  view = name;
  for (const each of VIEWS) {
    at(each).hidden = each !== view;
    at("show-" + each).setAttribute("aria-pressed", each === view);
  }
  parameters();
  refresh();
}

function chosen() {
  return [...new Set([at("engine").value, at("other").value])].filter((name) => name in choices.engines);
}

function element(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

function spellings() { // the names of each parameter; of one that both engines have, first a name that both know
  const found = [];
  for (const engine of chosen()) for (const [own, { aliases }] of Object.entries(choices.engines[engine].parameters)) {
    const names = [own, ...aliases];
    const place = found.findIndex((other) => other.some((name) => names.includes(name)));
    if (place < 0) { found.push(names); continue; }
    const other = found[place], shared = other.filter((name) => names.includes(name));
    found[place] = [[other[0], own].find((name) => shared.includes(name)) ?? shared[0], ...other, ...names];
  }
  return found;
}

function ofEngine(engine, name) { // its own name of a parameter, and what is known about it
  return Object.entries(choices.engines[engine].parameters)
    .find(([own, { aliases }]) => own === name || aliases.includes(name));
}

function parameters() {
  const engines = chosen(), all = spellings();
  const names = all.map(([name]) => name);
  for (const [name, value] of Object.entries(settings)) if (!names.includes(name)) {
    delete settings[name];
    const spelled = all.find((each) => each.includes(name));
    if (spelled) settings[spelled[0]] ||= value;
  }
  const rank = (name) => (COMMON.indexOf(name) + COMMON.length) % COMMON.length;
  const common = names.filter((name) => COMMON.includes(name)).sort((one, other) => rank(one) - rank(other));
  const others = names.filter((name) => !COMMON.includes(name)).sort();
  at("parameters").replaceChildren(...common.map(parameter));
  at("others").replaceChildren(...others.map(parameter));
  if (others.some((name) => settings[name])) at("more").open = true;
  const races = engines.length > 0 && engines.every((engine) => choices.engines[engine].race);
  at("drawn").hidden = races || view !== "sampling";
  at("race").hidden = !races;
  stages();
}

function parameter(name) { // a field with the default of each engine, and a slider, which is pale while nothing is set
  const known = chosen().filter((engine) => ofEngine(engine, name)).map((engine) => [engine, ...ofEngine(engine, name)]);
  const { usual, low, high, step } = known[0][2];
  const alike = known.every(([, , found]) => found.usual === usual);
  const defaults = alike ? usual : known.map(([engine, , found]) => `${found.usual} in ${engine}`).join(", ");
  const others = known.filter(([, own]) => own !== name).map(([engine, own]) => `${own} in ${engine}`).join(", ");
  const shown = [...new Set(known.map(([, , found]) => found.usual))].join(" or "); // the field is narrow
  const input = element("input", { placeholder: shown, title: defaults, value: settings[name] || "", spellcheck: false });
  const label = element("label", {}, name + " ", input);
  const notes = [others && `called ${others}`, alike ? "" : `default ${defaults}`].filter(Boolean).join("; ");
  if (notes) label.append(element("small", {}, notes));
  const slider = element("input", { type: "range", min: low, max: high, step, ariaLabel: name });
  const place = () => {
    const start = Number(usual);
    slider.value = settings[name] || (usual !== "None" && start >= low && start <= high ? start : low);
    slider.classList.toggle("unset", !settings[name]);
  };
  const both = (field, take) => ["input", "change"].forEach((kind) => field.addEventListener(kind, take));
  both(input, () => { settings[name] = input.value.trim(); place(); });
  if (step === undefined) return label;
  place();
  both(slider, () => { settings[name] = input.value = slider.value; place(); });
  return element("div", {}, label, slider);
}

// ---- stages: off, or in another order

function applied() {
  return Object.fromEntries(chosen().filter((name) => name in chains)
    .map((name) => [name, chains[name].filter(({ on }) => on).map(({ own }) => own)]));
}

const isUsed = (stage) => at("answer").querySelector(`[data-stage="${stage}"]`) !== null; // in the last answer

function fade() {
  for (const each of at("chains").querySelectorAll("li")) each.classList.toggle("unused", !isUsed(each.dataset.stage));
}

function stages() {
  at("chains").replaceChildren(...chosen().map((engine) => {
    const steps = choices.engines[engine].stages;
    const listed = chains[engine] || steps.map((_, own) => ({ own, on: true }));
    const change = (place, move) => {
      chains[engine] = listed;
      let to = place + move; // behind those that are not in use, which change nothing
      while (to + move in listed && !isUsed(`${engine} ${steps[listed[to].own]}`)) to += move;
      if (move) listed.splice(to, 0, ...listed.splice(place, 1));
      stages();
      refresh();
    };
    const lines = listed.map((stage, place) => {
      const name = steps[stage.own];
      const box = element("input", { type: "checkbox", checked: stage.on });
      box.addEventListener("change", () => { stage.on = box.checked; change(place, 0); });
      const moves = [["\u2191", "earlier", -1], ["\u2193", "later", 1]].map(([sign, word, move]) => {
        const button = element("button", { type: "button", ariaLabel: `${name} ${word}`, title: word }, sign);
        button.disabled = !(place + move in listed);
        button.addEventListener("click", () => change(place, move));
        return button;
      });
      const line = element("li", {}, element("label", {}, box, " " + name), ...moves);
      line.dataset.stage = `${engine} ${name}`;
      return line;
    });
    const reset = element("button", { type: "button" }, "the engine's own order");
    reset.addEventListener("click", () => { delete chains[engine]; stages(); refresh(); });
    return element("div", {}, engine, element("ol", {}, ...lines), reset);
  }));
  fade();
}

function exemplify(ids) { // what nobody has typed becomes an example that has the letters of the vocabulary
  for (const id of ids) {
    const place = EXAMPLE.indexOf(id), first = at(id).defaultValue;
    if ([first, ...Object.values(EXAMPLES).map((each) => each[place])].includes(at(id).value))
      at(id).value = EXAMPLES[at("vocabulary").value]?.[place] ?? first;
  }
}

function fill(id, names) {
  for (const name of names) at(id).append(new Option(ABOUT[name] ?? name, name));
}

async function start() {
  choices = globalThis.program ? JSON.parse(await globalThis.program("choices", ""))
    : await (await fetch("choices")).json();
  fill("vocabulary", choices.vocabularies);
  fill("engine", Object.keys(choices.engines));
  at("engine").value = "llama.cpp";
  fill("other", Object.keys(choices.engines));
  fill("variant", choices.variants);
  for (const form of document.forms) form.addEventListener("submit", (event) => event.preventDefault());
  for (const name of [...VIEWS, "drawn"]) {
    at(name).addEventListener("input", soon);
    at(name).addEventListener("change", () => { if (typed() !== answered) soon(); }); // some tools send nothing else
  }
  at("chains").addEventListener("input", (event) => event.stopPropagation()); // they ask by themselves
  for (const kind of ["input", "change"]) at("step").addEventListener(kind, walk);
  at("all").addEventListener("click", () => go(at("on").disabled ? -LONGEST : LONGEST));
  for (const [id, move] of [["back", -1], ["on", 1]]) at(id).addEventListener("click", () => go(move));
  addEventListener("keydown", press);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => paint(theme()));
  at("present").addEventListener("click", turn);
  at("theme").addEventListener("click", () => { paint(isDark() ? "light" : "dark"); remember(); });
  at("vocabulary").addEventListener("change", () => exemplify(EXAMPLE));
  for (const id of ["engine", "other"]) at(id).addEventListener("change", parameters);
  for (const name of VIEWS) at("show-" + name).addEventListener("click", () => show(name));
  at("answer").addEventListener("click", (event) => {
    const fold = event.target.closest(".fold > summary")?.parentElement;
    if (fold) folds.set(stageOf(fold), !fold.open); // it opens or closes after this
    const button = event.target.closest("button[data-piece]");
    if (button) { piece = button.dataset.piece; refresh(); }
    const next = event.target.closest("button[data-next]");
    if (next) { at("past").value += next.dataset.next; refresh(); }
    const row = event.target.closest("button[data-history]");
    if (row) { at("history").value = row.dataset.history; at("row").value = "model"; show("sampling"); }
  });
  addEventListener("hashchange", recall);
  recall();
}

start().catch((error) => say(error.message));
