"use strict";

// The page asks the program at every change. Its answers are HTML in which all text is escaped.

const at = (id) => document.getElementById(id);
const FIELDS = ["vocabulary", "text", "engine", "other", "row", "history", "uniform"];
const SIZE = 1 << 20;
const settings = {};
let view = "tokens", piece = "", choices = {}, asked = 0, waiting = 0;

async function answer(path, question) {
  const body = JSON.stringify(question);
  if (body.length > SIZE) throw new Error("what is typed must have at most 1,048,576 bytes");
  const response = await fetch(path, { method: "POST", body });
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  return text;
}

function say(sentence) {
  at("wrong").hidden = !sentence;
  at("wrong").textContent = sentence;
}

async function refresh() {
  const number = ++asked;
  remember();
  at("number").textContent = at("uniform").value;
  try {
    const value = (id) => at(id).value;
    const question = view === "tokens"
      ? { vocabulary: value("vocabulary"), text: value("text") }
      : { engine: value("engine"), other: value("other"), row: value("row"),
          history: value("history"), uniform: value("uniform"), settings };
    const shown = await answer(view === "tokens" ? "tokens" : "sample", question);
    const steps = view === "tokens" && piece
      ? await answer("merges", { vocabulary: value("vocabulary"), piece }) : "";
    if (number !== asked) return; // a newer question is on its way
    at("answer").innerHTML = shown;
    at("steps").innerHTML = steps;
    say("");
  } catch (error) {
    if (number === asked) say(error.message);
  }
  document.body.dataset.answered = number;
}

function soon() {
  clearTimeout(waiting);
  waiting = setTimeout(refresh, 30);
}

// ---- the address has the whole state

function remember() {
  const state = new URLSearchParams({ view });
  for (const id of FIELDS) state.set(id, at(id).value);
  if (piece) state.set("piece", piece);
  for (const [name, value] of Object.entries(settings)) if (value) state.set("p." + name, value);
  history.replaceState(null, "", "#" + state);
}

function recall() {
  const state = new URLSearchParams(location.hash.slice(1));
  for (const id of FIELDS) if (state.has(id)) at(id).value = state.get(id);
  for (const id of ["vocabulary", "engine"]) if (!at(id).value) at(id).selectedIndex = 0;
  piece = state.get("piece") || "";
  for (const name of Object.keys(settings)) delete settings[name];
  for (const [name, value] of state) if (name.startsWith("p.")) settings[name.slice(2)] = value;
  at("settings").open = Object.keys(settings).length > 0;
  show(state.get("view") === "sampling" ? "sampling" : "tokens");
}

function show(wanted) {
  view = wanted;
  for (const name of ["tokens", "sampling"]) {
    at(name).hidden = name !== view;
    at("show-" + name).setAttribute("aria-pressed", name === view);
  }
  parameters();
  refresh();
}

function parameters() {
  const engines = [at("engine").value, at("other").value].filter((name) => name in choices.engines);
  const names = new Map(engines.flatMap((name) => Object.entries(choices.engines[name])));
  for (const name of Object.keys(settings)) if (!names.has(name)) delete settings[name];
  at("parameters").replaceChildren(...[...names].map(([name, usual]) => {
    const label = document.createElement("label");
    const input = document.createElement("input");
    input.placeholder = usual;
    input.value = settings[name] || "";
    input.spellcheck = false;
    input.addEventListener("input", () => { settings[name] = input.value.trim(); soon(); });
    label.append(name + " ", input);
    return label;
  }));
}

function fill(id, names) {
  for (const name of names) at(id).append(new Option(name, name));
}

async function start() {
  choices = await (await fetch("choices")).json();
  fill("vocabulary", choices.vocabularies);
  fill("engine", Object.keys(choices.engines));
  fill("other", Object.keys(choices.engines));
  for (const form of document.forms) {
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", soon);
  }
  for (const id of ["engine", "other"]) at(id).addEventListener("change", parameters);
  for (const name of ["tokens", "sampling"]) at("show-" + name).addEventListener("click", () => show(name));
  at("answer").addEventListener("click", (event) => {
    const button = event.target.closest("button[data-piece]");
    if (button) { piece = button.dataset.piece; refresh(); }
  });
  addEventListener("hashchange", recall);
  recall();
}

start().catch((error) => say(error.message));
