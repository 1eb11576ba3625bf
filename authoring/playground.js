// The page of `tokenref play` without its program: Python runs in the browser.
"use strict";

const python = (async () => {
  const { loadPyodide } = await import("./pyodide.mjs");
  const loaded = await loadPyodide();
  loaded.unpackArchive(await (await fetch("packages.zip")).arrayBuffer(), "zip");
  loaded.runPython("from tokenref.commands.play import in_the_browser");
  return loaded.runPython("in_the_browser(['tiny'])");
})();

globalThis.program = async (path, question) => {
  const answer = (await python)(path, question);
  const [isAnswer, text] = answer.toJs();
  answer.destroy();
  if (!isAnswer) throw new Error(text);
  return text;
};
