"use strict";

// The page asks the program at every change. Its answers are HTML in which all text is escaped.

const at = (id) => document.getElementById(id);
const FIELDS = ["vocabulary", "text", "encoder", "engine", "other", "row", "history", "uniform"];
const SIZE = 1 << 20;
const settings = {};
let view = "tokens", piece = "", choices = {}, asked = 0, waiting = 0;
let steps = null, wanted = null; // the shown steps, and the one to go to when they arrive

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
    const walked = view === "tokens" && piece
      ? await answer("merges", { vocabulary: value("vocabulary"), piece, encoder: value("encoder") }) : "";
    if (number !== asked) return; // a newer question is on its way
    at("answer").innerHTML = shown;
    if (steps !== walked) begin(walked);
    say("");
  } catch (error) {
    if (number === asked) say(error.message);
  }
  document.body.dataset.answered = number;
}

// ---- the steps of a piece: those behind the slider are hidden

function begin(walked) {
  steps = walked;
  at("steps").innerHTML = walked;
  const last = at("steps").querySelectorAll("tr").length - 1;
  at("stepper").hidden = last < 1;
  at("step").max = Math.max(last, 0);
  at("step").value = wanted ?? last;
  wanted = null;
  walk();
}

function walk() {
  const step = Number(at("step").value);
  at("at").textContent = `${step} of ${at("step").max}`;
  at("steps").querySelectorAll("tr").forEach((row, number) => {
    row.hidden = number > step;
    row.classList.toggle("now", number === step);
  });
  at("back").disabled = step === 0;
  at("on").disabled = step === Number(at("step").max);
  remember();
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
  const step = wanted ?? (at("step").value === at("step").max ? null : at("step").value);
  if (piece && step !== null) state.set("step", step);
  for (const [name, value] of Object.entries(settings)) if (value) state.set("p." + name, value);
  history.replaceState(null, "", "#" + state);
}

function recall() {
  const state = new URLSearchParams(location.hash.slice(1));
  for (const id of FIELDS) if (state.has(id)) at(id).value = state.get(id);
  for (const id of ["vocabulary", "engine"]) if (!at(id).value) at(id).selectedIndex = 0;
  piece = state.get("piece") || "";
  wanted = state.get("step");
  steps = null;
  for (const name of Object.keys(settings)) delete settings[name];
  for (const [name, value] of state) if (name.startsWith("p.")) settings[name.slice(2)] = value;
  at("settings").open = Object.keys(settings).length > 0;
  show(state.get("view") === "sampling" ? "sampling" : "tokens");
}

function show(name) {
  view = name;
  for (const each of ["tokens", "sampling"]) {
    at(each).hidden = each !== view;
    at("show-" + each).setAttribute("aria-pressed", each === view);
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
  for (const form of document.forms) form.addEventListener("submit", (event) => event.preventDefault());
  for (const name of ["tokens", "sampling"]) at(name).addEventListener("input", soon);
  at("step").addEventListener("input", walk);
  for (const [id, move] of [["back", -1], ["on", 1]]) at(id).addEventListener("click", () => {
    at("step").value = Number(at("step").value) + move;
    walk();
  });
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
