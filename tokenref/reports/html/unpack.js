"use strict";
// The data of the page, unpacked: packing.py says how it is packed.
const report = (() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const part = (entry) => (typeof entry === "number" ? data.shared[entry] : entry);
  const column = (cells) => {
    const texts = [];
    for (const cell of cells) {
      if (typeof cell === "number" && cell < 0) {
        const again = texts[texts.length - 1];
        for (let times = cell; times < 0; times += 1) texts.push(again);
      } else texts.push(Array.isArray(cell) ? cell.map(part).join(" ") : part(cell));
    }
    return texts;
  };
  const cases = {};
  for (const [name, cells] of Object.entries(data.columns)) cases[name] = column(cells);
  const places = (groups) => { // what is said of runs of cases
    const details = {};
    for (const [said, runs] of groups) {
      for (let at = 0, pair = 0; pair < runs.length; pair += 2) {
        at += runs[pair];
        for (const end = at + runs[pair + 1]; at < end; at += 1) details[at] = said;
      }
    }
    return details;
  };
  for (const engine of data.engines) {
    engine.statuses = engine.statuses.replace(/(\D)(\d+)/g, (_, letter, times) => letter.repeat(times));
    engine.details = places(engine.details);
  }
  return {
    pages: data.pages, compared: data.compared, engines: data.engines, texts: data.texts, cases,
    count: cases.slug.length,
    hasRecord: (at) => cases.question[at] !== "",
  };
})();
