const slides = [...document.body.querySelectorAll(":scope > section")];
let place = Math.min(Math.max(Number(location.hash.slice(1)) || 1, 1), slides.length) - 1;
function show() {
  slides.forEach((slide, number) => slide.classList.toggle("now", number === place));
  document.body.dataset.place = `${place + 1} / ${slides.length}`;
  history.replaceState(null, "", `#${place + 1}`);
}
function turn(by) {
  place = Math.min(Math.max(place + by, 0), slides.length - 1);
  show();
}
addEventListener("keydown", (event) => {
  if (["ArrowRight", "PageDown", " "].includes(event.key)) turn(1);
  else if (["ArrowLeft", "PageUp"].includes(event.key)) turn(-1);
  else if (event.key === "n") document.body.classList.toggle("notes");
  else return;
  event.preventDefault();
});
addEventListener("click", (event) => turn(event.clientX < innerWidth / 3 ? -1 : 1));
show();
