"use strict";
// Draws the auction that runs. All texts are set as text, never as markup.
const section = document.getElementById("live"), state = document.getElementById("live-state");
const svg = document.getElementById("live-curve"), legend = document.getElementById("live-legend");
const colours = ["#0b7285", "#c2410c", "#6741d9", "#2b8a3e", "#c2255c", "#5c7cfa", "#a05a00", "#0c8599", "#862e9c", "#66a80f", "#e03131", "#495057"];
const left = 8, right = 792, top_ = 12, bottom = 236;

function shape(name, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  svg.append(made);
}

function draw(view) {
  const begin = Math.min(-8000, ...view.curves.flatMap((c) => c.ms)), end = Math.max(4000, view.now_ms > 12000 ? 4000 : view.now_ms);
  const high = Math.max(1, ...view.curves.flatMap((c) => c.gwei));
  const x = (ms) => left + (right - left) * (Math.min(ms, end) - begin) / (end - begin);
  const y = (gwei) => bottom - (bottom - top_) * gwei / high;
  svg.replaceChildren();
  for (let second = Math.ceil(begin / 1000); second * 1000 <= end; second += 2) {
    shape("text", { x: x(second * 1000), y: 254, "text-anchor": "middle" }, second + " s");
  }
  shape("line", { x1: x(0), x2: x(0), y1: top_, y2: bottom });
  for (const ms of view.headers_ms || []) shape("line", { x1: x(ms), x2: x(ms), y1: top_, y2: bottom, class: "mark" });
  legend.replaceChildren();
  view.curves.forEach((curve, i) => {
    const points = [];
    curve.ms.forEach((ms, j) => {
      if (j > 0) points.push(x(ms) + "," + y(curve.gwei[j - 1]));
      points.push(x(ms) + "," + y(curve.gwei[j]));
    });
    points.push(x(view.over ? curve.ms.at(-1) : view.now_ms) + "," + y(curve.gwei.at(-1)));
    shape("polyline", { points: points.join(" "), stroke: colours[i % colours.length] });
    const item = document.createElement("li");
    item.textContent = curve.builder + " " + (curve.gwei.at(-1) / 1e9).toFixed(6) + " ETH";
    item.style.borderBottom = "3px solid " + colours[i % colours.length];
    legend.append(item);
  });
  let said = "Slot " + view.slot + ": " + view.bids + " submissions, " + view.refused + " refused. ";
  if (view.leader) said += view.leader + " leads" + (view.leader_eth ? " with " + view.leader_eth + " ETH" : "") + ". ";
  if (view.headers_ms) said += "The header was served. ";
  if (view.delivered) said += "Delivered: the block of " + view.delivered + ".";
  state.textContent = said;
  section.hidden = false;
}

const source = new EventSource("/live");
source.onmessage = (event) => draw(JSON.parse(event.data));
source.onerror = () => { if (!section.hidden) state.textContent = "Connection lost, trying again."; };
