"use strict";
// The data of the page: JSON, compressed, in base64.
const unpacked = async () => {
  const bytes = Uint8Array.from(atob(document.getElementById("data").textContent), (sign) => sign.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).json();
};
let report;
