"use strict";
// The list of cases. All text reaches the page through textContent: none of it is ever markup.
const showCases = () => {
  const { engines, cases } = report;
  const STATUSES = {
    f: ["\u2717", "fail", "bad"], w: ["\u2717", "wrong error", "bad"], c: ["\u2717", "crash", "bad"],
    t: ["\u2717", "timeout", "bad"], X: ["\u2717", "unexpected pass", "bad"],
    x: ["\u2260", "known", "known"], p: ["\u2713", "pass", "good"],
    u: ["\u00b7", "unsupported", "none"], s: ["\u00b7", "skipped", "none"],
    n: ["\u00b7", "not run", "none"], ".": ["\u00b7", "not there", "none"],
  };
  const GROUPS = { failures: "fwctX", differences: "fwctXx", answered: "fwctXxp" };
  const PER_PAGE = 50;
  const KINDS = ["new failure", "unexpected pass", "lost answer", "newly passing", "appeared", "disappeared", "other"];
  const kind = (was, is) => {
    if (is === ".") return "disappeared";
    if (is === "X" && !GROUPS.failures.includes(was)) return "unexpected pass";
    if ("fwct".includes(is) && !"fwct".includes(was)) return "new failure";
    if (was === ".") return "appeared";
    if (GROUPS.answered.includes(was) && !GROUPS.answered.includes(is)) return "lost answer";
    if (!"ct".includes(was) && "ct".includes(is)) return "lost answer";
    return is === "p" ? "newly passing" : "other";
  };
  const meanings = {};
  for (const anchor of document.querySelectorAll("#by-flag tbody th a")) meanings[anchor.textContent] = anchor.title;
  const byId = (id) => document.getElementById(id);
  const form = byId("filters"), list = byId("cases"), pager = byId("pager");
  const FIELDS = ["search", "status", "engine", "op", "flag", "profile", "change"];
  const flags = (at) => cases[at].flags || [];
  const haystacks = cases.map(({ id, why, question }) => `${id} ${why || ""} ${question || ""}`.toLowerCase());
  const has = (at, engine, word) => haystacks[at].includes(word)
    || Object.values(engine.details[at]).some((text) => text.toLowerCase().includes(word))
    || engine.name.toLowerCase().includes(word);

  const make = (name, attributes = {}, ...children) => {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.append(...children); // strings become text
    return node;
  };
  const badge = (letter) => {
    const [sign, word, look] = STATUSES[letter];
    return make("span", { class: `status ${look}` }, `${sign} ${word}`);
  };

  // ---- the choices of the form
  const fill = (name, entries) => {
    form.elements[name].replaceChildren(make("option", { value: "" }, "any"),
      ...entries.map(([value, text]) => make("option", { value }, text)));
    form.elements[name].parentElement.hidden = entries.length === 0;
  };
  const totals = {};
  for (const engine of engines) {
    for (const letter of engine.statuses) totals[letter] = (totals[letter] || 0) + 1;
  }
  const count = (letters) => [...letters].reduce((sum, letter) => sum + (totals[letter] || 0), 0);
  const number = (value) => value.toLocaleString("en");
  fill("status", [
    ["failures", `failures (${number(count(GROUPS.failures))})`],
    ["differences", `failures, known (${number(count(GROUPS.differences))})`],
    ["answered", `answered (${number(count(GROUPS.answered))})`],
    ...Object.entries(STATUSES).filter(([letter]) => letter !== "." && totals[letter])
      .map(([letter, [, word]]) => [letter, `${word} (${number(totals[letter])})`]),
  ]);
  fill("engine", engines.map((engine) => [engine.name, engine.name]));
  const each = (names) => [...new Set(names)].filter(Boolean).map((name) => [name, name]);
  fill("op", each(cases.map((entry) => entry.op)));
  fill("flag", each(Object.keys(meanings)));
  fill("profile", each(cases.map((entry) => entry.profile)));
  const changes = {};
  for (const engine of engines) {
    for (const [at, was] of Object.entries(engine.was)) {
      const found = kind(was, engine.statuses[at]);
      changes[found] = (changes[found] || 0) + 1;
    }
  }
  fill("change", report.compared ? [["changed", "any change"], ...KINDS.map((name) => [name, `${name} (${number(changes[name] || 0)})`])] : []);
  form.hidden = false;

  // ---- filtering
  let found = [], first = 0;
  const wanted = (values) => {
    const asked = engines.filter((engine) => !values.engine || engine.name === values.engine);
    const letters = GROUPS[values.status] || values.status;
    const words = values.search.toLowerCase().split(/\s+/).filter(Boolean);
    const chosen = [];
    for (let at = 0; at < cases.length; at += 1) {
      if (values.op && cases[at].op !== values.op) continue;
      if (values.flag && !flags(at).includes(values.flag)) continue;
      if (values.profile && cases[at].profile !== values.profile) continue;
      for (const engine of asked) {
        const letter = engine.statuses[at], was = engine.was[at];
        if (letter === "." && !was) continue;
        if (letters && !letters.includes(letter)) continue;
        if (values.change && !(was && (values.change === "changed" || values.change === kind(was, letter)))) continue;
        if (words.every((word) => has(at, engine, word))) chosen.push([at, engine]);
      }
    }
    return chosen;
  };

  // ---- one case, opened
  const link = (address, text) => (/^https?:\/\//.test(address)
    ? make("a", { href: address, rel: "noopener noreferrer" }, text) : text);
  const quoted = (part) => (/^[\w@%+=:,./-]+$/.test(part) ? part : `'${part.replaceAll("'", "'\"'\"'")}'`);
  const split = (detail) => {
    const parts = /^(?:(.*?): )?expected (.*), got (.*)$/s.exec(detail);
    const once = detail.split(", got ").length === 2;
    return parts && once ? { at: parts[1], expected: parts[2], got: parts[3] } : { plain: detail };
  };
  const others = (at, engine) => { // those that ended alike stand together, those that answered first
    const names = {};
    for (const other of engines) {
      if (other !== engine && other.statuses[at] !== ".") (names[other.statuses[at]] ||= []).push(other.name);
    }
    const groups = Object.keys(STATUSES).filter((letter) => names[letter])
      .map((letter) => make("span", {}, badge(letter), ` ${names[letter].join(", ")}`));
    return groups.length ? make("div", { class: "others" }, ...groups) : "";
  };
  const open = (at, engine) => {
    const letter = engine.statuses[at];
    const { id, profile, spec, lesson, subject, why, question, answer } = cases[at];
    const { detail = "", stage, remark, ulp, known, got, log } = engine.details[at];
    const items = make("dl");
    const item = (term, content, look) => {
      if (content === "" || content === undefined) return;
      items.append(make("dt", {}, term), make("dd", look ? { class: look } : {}, content));
    };
    const code = (text, look) => make("code", look ? { class: look } : {}, text);
    if (question) {
      item("why", why);
      const near = report.pages && !/^https?:/.test(report.pages);
      for (const [term, page] of [["rule", spec], ["in the book", lesson]]) {
        const address = report.pages + page;
        const there = near ? make("a", { href: address }, page) : link(address, page);
        item(term, report.pages ? there : code(`tokenref show ${page}`));
      }
      item("of", [subject, `by the rules of ${profile}`].filter(Boolean).join(", "));
      item("question", code(question));
    }
    if (engine.was[at]) item("before", badge(engine.was[at]));
    if (known) {
      const [reason, address] = engine.known[known] || ["", ""];
      item("known as", make("span", {}, known));
      item("because", make("span", {}, reason, " ", link(address, address)));
    }
    const parts = split(detail);
    item("stage", stage);
    if (parts.plain === undefined) {
      item("first differs", parts.at);
      item("expected", code(parts.expected), "expected");
      item("got", code(parts.got), "got");
    } else item(GROUPS.differences.includes(letter) ? "got" : "because", parts.plain && code(parts.plain),
      GROUPS.differences.includes(letter) ? "got" : "");
    if (answer && GROUPS.differences.includes(letter)) item("right answer", code(answer));
    item("whole answer", got && code(got));
    item("log", log && code(log));
    item(GROUPS.differences.includes(letter) ? "remark" : "matched", remark);
    item("distance", ulp && `${ulp} units in the last place`);
    if (flags(at).length) {
      item("hunts", make("span", {}, ...flags(at).flatMap((flag, number) =>
        [number ? ", " : "", make("span", { title: meanings[flag] || "" }, flag)])));
    }
    item("others", others(at, engine));
    item("again", code(["tokenref", ...engine.again, "--id", id, ...engine.options].map(quoted).join(" "), "line"));
    return make("div", { class: "open" }, items);
  };

  // ---- the list
  const entry = ([at, engine]) => {
    const letter = engine.statuses[at];
    const head = make("button", { type: "button", class: "case", "aria-expanded": "false" },
      make("span", {}, ...(engine.was[at] ? [badge(engine.was[at]), " \u2192 "] : []), badge(letter)),
      make("span", {}, engine.name), make("span", { class: "id" }, cases[at].id));
    const text = engine.details[at].detail || cases[at].why;
    if (text) head.append(make("span", { class: "detail" }, text));
    const item = make("li", {}, head);
    head.addEventListener("click", () => {
      const opened = item.querySelector(".open");
      if (opened) opened.remove(); else item.append(open(at, engine));
      head.setAttribute("aria-expanded", String(!opened));
    });
    return item;
  };
  const show = () => {
    list.replaceChildren(...found.slice(first, first + PER_PAGE).map(entry));
    const last = Math.min(first + PER_PAGE, found.length);
    byId("found").textContent = found.length ? `${number(found.length)} results` : "Nothing matches these filters.";
    pager.hidden = found.length <= PER_PAGE;
    byId("where").textContent = `${number(first + 1)} to ${number(last)} of ${number(found.length)}`;
    pager.querySelector("[name=back]").disabled = first === 0;
    pager.querySelector("[name=next]").disabled = last === found.length;
  };
  const turn = (step) => {
    first += step;
    show();
    byId("list").scrollIntoView();
  };
  pager.querySelector("[name=back]").addEventListener("click", () => turn(-PER_PAGE));
  pager.querySelector("[name=next]").addEventListener("click", () => turn(PER_PAGE));

  for (const said of document.querySelectorAll("a .said")) said.parentElement.title = said.textContent;

  // ---- the address holds the filters, so that a cell is a link and a view can be passed on
  const read = () => Object.fromEntries(FIELDS.map((name) => [name, form.elements[name].value]));
  const hiddenHits = byId("hidden-hits");
  const refresh = () => {
    const values = read();
    found = wanted(values);
    const alone = Object.fromEntries(FIELDS.map((name) => [name, name === "search" ? values.search : ""]));
    const more = values.search.trim() ? wanted(alone).length - found.length : 0;
    hiddenHits.hidden = more === 0;
    hiddenHits.querySelector("span").textContent =
      `The other filters hide ${number(more)} more ${more === 1 ? "result" : "results"} of this search.`;
    first = 0;
    show();
  };
  const fromAddress = () => {
    const values = new URLSearchParams(location.hash.slice(1));
    for (const name of FIELDS) form.elements[name].value = values.get(name) || "";
    for (const cell of document.querySelectorAll(".here")) cell.classList.remove("here");
    for (const anchor of document.querySelectorAll(".matrix a")) {
      if (location.hash && anchor.getAttribute("href") === location.hash) anchor.parentElement.classList.add("here");
    }
    refresh();
  };
  const toAddress = () => {
    const values = Object.entries(read()).filter(([, value]) => value);
    history.replaceState(null, "", `#${new URLSearchParams(values)}`);
    refresh();
  };
  hiddenHits.querySelector("button").addEventListener("click", () => {
    for (const name of FIELDS) if (name !== "search") form.elements[name].value = "";
    toAddress();
  });
  let timer = 0;
  form.addEventListener("input", (event) => {
    clearTimeout(timer);
    timer = setTimeout(toAddress, event.target.name === "search" ? 150 : 0);
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(toAddress, 0));
  addEventListener("hashchange", () => {
    fromAddress();
    byId("list").scrollIntoView();
  });
  if (location.hash.length > 1) fromAddress();
  else {
    form.elements.status.value = count(GROUPS.failures) ? "failures" : count("x") ? "differences" : "";
    if (report.compared) {
      form.elements.status.value = "";
      form.elements.change.value = "changed";
    }
    refresh();
  }
};

unpacked().then((data) => {
  report = data;
  document.querySelectorAll(".matrix").forEach(linkCells);
  showCases();
});
