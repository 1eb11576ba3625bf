const slides = [...document.body.querySelectorAll(":scope > section")];
let started = Date.now();
let place = Math.min(Math.max(Number(location.hash.slice(1)) || 1, 1), slides.length) - 1;
let notes = null;
let is_unfolded = false; // whether the speaker wants to see the book below the notes
const rules = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]);
const dark_rules = rules.filter((rule) => rule.media?.mediaText.includes("prefers-color-scheme"));
const largest = 32; // twentieths of the usual size of words
let is_dark = matchMedia("(prefers-color-scheme: dark)").matches;

function show() {
  document.body.classList.toggle("short", is_short());
  slides.forEach((slide, number) => slide.classList.toggle("now", number === place));
  grow(slides[place]);
  const numbers = slides.flatMap((slide, number) => is_left_out(slide) ? [] : [number]);
  const before = numbers.filter((number) => number <= place);
  numbers.forEach((number, at) => { slides[number].dataset.place = `${at + 1} / ${numbers.length}`; }); // printed
  document.body.dataset.place = `${before.length} / ${numbers.length}${is_short() ? ", short" : ""}`;
  history.replaceState(null, "", `#${place + 1}`);
  if (notes === null || notes.closed) return;
  const page = notes.document;
  is_unfolded = page.querySelector("details")?.open ?? is_unfolded;
  const line = page.createElement("p");
  const next = slides.slice(place + 1).find((slide) => !is_left_out(slide))?.querySelector("h2").textContent ?? "the end";
  const minutes = Math.floor((Date.now() - started) / 60000);
  line.textContent = `${document.body.dataset.place}, ${minutes} min${planned()}. Next: ${next}`;
  const shown = [slides[place].querySelector("h1, h2"), slides[place].querySelector("aside")];
  page.body.replaceChildren(line, ...shown.filter(Boolean).map((each) => each.cloneNode(true)));
  for (const fold of page.querySelectorAll("[data-slide]"))
    fold.replaceWith(slides[fold.dataset.slide - 1].querySelector("details").cloneNode(true));
  for (const fold of page.querySelectorAll("details")) fold.open = is_unfolded;
  page.documentElement.scrollTop = 0;
}

/** Make the words of a slide without a picture below them as large as fits, with no line of code broken. */
function grow(slide) {
  const style = getComputedStyle(slide);
  const low = innerHeight - parseFloat(style.paddingBottom) + 1, wide = innerWidth - parseFloat(style.paddingRight) + 1;
  const is_out = (each) => each.getBoundingClientRect().bottom > low || each.getBoundingClientRect().right > wide;
  const filled = (parts, is_filled) => [...parts].filter(is_filled).length;
  const is_broken = (code) => filled(code.getClientRects(), ({ width }) => width) > filled(code.textContent.split("\n"), Boolean);
  const is_full = () => document.documentElement.scrollWidth > innerWidth
    || [...slide.children].some(is_out) || [...slide.querySelectorAll("pre > code")].some(is_broken);
  let size = slide.querySelector(":scope > p:not(.beside) > svg") ? 20 : largest;
  do slide.style.setProperty("--grown", size / 20);
  while (is_full() && --size >= 20);
}

/** Let the clock of the notes begin again. */
function restart() {
  started = Date.now();
  show();
}

/** Return when the slide should end, if the optional ones before it were left out. */
function planned() {
  const needed = slides.slice(0, place).filter((slide) => !slide.classList.contains("optional"));
  const own = slides[place].dataset.minutes;
  const end = [...needed, slides[place]].reduce((sum, { dataset }) => sum + Number(dataset.minutes ?? 0), 0);
  return own ? ` (planned: ${own} min, to ${end})` : "";
}

function go(to) {
  place = Math.min(Math.max(to, 0), slides.length - 1);
  show();
}

/** Show the next slide or the one before, without the optional ones if they are left out. */
function turn(by) {
  let to = place + by;
  while (is_left_out(slides[to])) to += by;
  if (to in slides) go(to);
}

const is_short = () => new URLSearchParams(location.search).has("short");
const is_left_out = (slide) => is_short() && slide?.classList.contains("optional");

/** Leave out the optional slides, or show them again: the address remembers it. */
function switch_length() {
  history.replaceState(null, "", (is_short() ? location.pathname : "?short") + location.hash);
  show();
}

/** Show the notes in a window of their own, which can be on another screen. */
function open_notes() {
  notes = open("", "notes", "width=900,height=700");
  if (notes === null) return; // the browser does not allow it
  notes.document.title = `${document.title}: notes`;
  notes.document.head.querySelector("style")?.remove();
  notes.document.head.append(document.querySelector("style").cloneNode(true));
  notes.document.body.className = "notes";
  notes.onkeydown = pressed;
  show();
}

/** Show light instead of dark, or the other way round, whatever the system says. */
function switch_theme() {
  is_dark = !is_dark;
  for (const rule of dark_rules) rule.media.mediaText = is_dark ? "all" : "not all";
}

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (["ArrowRight", "PageDown", " "].includes(event.key)) turn(1);
  else if (["ArrowLeft", "PageUp"].includes(event.key)) turn(-1);
  else if (event.key === "Home") go(0);
  else if (event.key === "End") go(slides.findLastIndex((slide) => !is_left_out(slide)));
  else if (event.key === "n") open_notes();
  else if (event.key === "o") switch_length();
  else if (event.key === "c") restart();
  else if (event.key === "t") switch_theme();
  else return;
  event.preventDefault();
}

addEventListener("keydown", pressed);
addEventListener("resize", () => grow(slides[place]));
addEventListener("hashchange", () => go(Number(location.hash.slice(1)) - 1)); // the outline
addEventListener("click", (event) => {
  const is_text = event.target.closest("pre, code, table, a") || !getSelection().isCollapsed;
  if (!is_text) turn(event.clientX < innerWidth / 3 ? -1 : 1);
});
show();
