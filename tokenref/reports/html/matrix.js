"use strict";
// The cells of the tables become links to their cases. What they count stands in their titles.
const linkCells = (table) => {
  const engines = report.engines.map((engine) => engine.name), { kind } = table.dataset;
  for (const row of table.tBodies[0].rows) {
    const [head, ...cells] = row.cells;
    cells.forEach((cell, at) => {
      if (!cell.title) return;
      const shown = document.createElement("span"), said = document.createElement("i");
      shown.setAttribute("aria-hidden", "true");
      shown.append(...cell.childNodes);
      said.className = "said";
      if (cell.className === "none") { // nothing to look at, in half of all cells
        said.textContent = cell.title;
        cell.append(shown, said);
        return;
      }
      const filters = { engine: engines[at], [kind]: head.textContent };
      if (cell.classList.contains("bad")) filters.status = "failures";
      if (cell.classList.contains("known")) filters.status = "differences";
      const link = document.createElement("a");
      link.setAttribute("href", `#${new URLSearchParams(filters)}`);
      said.textContent = `${engines[at]}, ${head.textContent}: ${cell.title}`;
      cell.title = said.textContent;
      link.append(shown, said);
      cell.append(link);
    });
  }
};
