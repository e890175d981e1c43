"use strict";
// Shows a chosen fact, and follows a run that goes on. Texts are set as text; the parts of the page
// that come are written by the same templates as the page.
const chosen = document.getElementById("chosen");

function choose(id) {
  const row = document.getElementById(id);
  if (!row) return;
  const heads = row.closest("table").tHead.rows[0].cells, list = document.createElement("dl");
  for (const cell of row.cells) {
    if (cell.textContent === "") continue;
    const pair = document.createElement("div"), name = document.createElement("dt"), value = document.createElement("dd");
    name.textContent = heads[cell.cellIndex].textContent;
    value.textContent = cell.textContent;
    pair.append(name, value);
    list.append(pair);
  }
  const close = document.createElement("button");
  close.textContent = "Close";
  close.addEventListener("click", () => { chosen.hidden = true; });
  chosen.replaceChildren(list, close);
  chosen.hidden = false;
}

document.addEventListener("click", (event) => {
  const mark = event.target.closest("svg a");
  if (!mark) return;
  event.preventDefault();
  choose(mark.getAttribute("href").slice(1));
});

// put replaces a part of the page, or adds a slot where its number belongs. What a reader has opened
// stays open.
function put(part) {
  const holder = document.createElement("template");
  holder.innerHTML = part.html;
  const made = holder.content.firstElementChild, old = document.getElementById(part.id);
  if (!made) { old?.remove(); return; }
  if (old) {
    for (const details of old.querySelectorAll("details[open]")) {
      const same = made.querySelector("#" + details.id);
      if (same) same.open = true;
    }
    old.replaceWith(made);
    return;
  }
  const slots = document.getElementById("slots");
  slots.insertBefore(made, [...slots.children].find((s) => Number(s.dataset.number) > Number(made.dataset.number)) || null);
}

const live = document.body.dataset.live;
if (live !== undefined) {
  const state = document.getElementById("state");
  state.textContent = "The run goes on; the page follows it.";
  const source = new EventSource("/live?after=" + live);
  source.addEventListener("part", (event) => {
    put(JSON.parse(event.data));
    state.textContent = "The run goes on; the page follows it.";
  });
  source.addEventListener("over", (event) => { source.close(); state.textContent = JSON.parse(event.data); });
  source.onerror = () => { state.textContent = "Connection lost, trying again."; };
}
