
"use strict";
// What comes from the stream is only ever put into the page as text.
(() => {
  const rowsShown = 100, minute = 60_000, historyPause = 3_000;
  const by = (id) => document.getElementById(id);
  const rows = by("events"), state = by("state");
  const figures = { count: 0, withlogs: 0, bundles: 0 };
  let arrivals = [], last = rows.dataset.last;

  const say = (word, text) => { state.dataset.state = word; state.textContent = text; };
  const show = (id, value) => { by(id).textContent = value.toLocaleString("en"); };

  const cell = (label, text, options = {}) => {
    const td = document.createElement("td");
    td.dataset.label = label;
    if (options.number) td.className = "n";
    const inner = options.code ? td.appendChild(document.createElement("code")) : td;
    inner.textContent = text ?? "";
    if (text) inner.title = text;
    if (options.more) {
      const more = document.createElement("span");
      more.className = "more";
      more.textContent = options.more;
      td.append(" ", more);
    }
    return td;
  };

  const rowOf = (hint) => {
    const txs = hint.txs ?? [], first = txs[0] ?? {}, tr = document.createElement("tr");
    tr.dataset.hash = hint.hash;
    tr.className = "new";
    tr.append(
      cell("time", new Date().toISOString().slice(11, 19)),
      cell("hash", hint.hash, { code: true }),
      cell("to", first.to, { code: true, more: txs.length > 1 ? `+${txs.length - 1}` : "" }),
      cell("selector", first.functionSelector, { code: true }),
      cell("logs", hint.logs?.length ? String(hint.logs.length) : "", { number: true }),
      cell("gas", /^0x[0-9a-f]+$/.test(hint.gasUsed) ? String(BigInt(hint.gasUsed)) : "", { number: true }),
      cell("block", "", { number: true }),
    );
    return tr;
  };

  const count = () => {
    const since = Date.now() - minute;
    arrivals = arrivals.filter((at) => at > since);
    show("rate", arrivals.length);
    for (const [id, value] of Object.entries(figures)) show(id, value);
  };

  // Under load the rows of a moment are drawn together, and only those that will be seen.
  let waiting = [];
  const draw = () => {
    const fresh = waiting.slice(-rowsShown).reverse();
    waiting = [];
    rows.prepend(...fresh.map(rowOf));
    while (rows.children.length > rowsShown) rows.lastElementChild.remove();
    by("empty").hidden = rows.children.length > 0;
    count();
  };

  const hear = (event) => {
    let hint;
    try { hint = JSON.parse(event.data); } catch { return; }
    if (hint === null || typeof hint !== "object") return;
    if (event.lastEventId) last = event.lastEventId;
    figures.count++;
    if (hint.logs?.length) figures.withlogs++;
    if (hint.txs?.length > 1) figures.bundles++;
    arrivals.push(Date.now());
    if (waiting.push(hint) === 1) requestAnimationFrame(draw);
    askBlocks();
  };

  // An event does not say its block; the history does, where this service has one.
  let asking = false, hasHistory = true;
  const askBlocks = () => {
    if (asking || !hasHistory) return;
    asking = true;
    setTimeout(async () => {
      try { await tellBlocks(); } catch { /* the next event asks again */ }
      asking = false;
    }, historyPause);
  };
  const get = async (path) => {
    const answer = await fetch(path);
    if (answer.status === 404) hasHistory = false;
    if (!answer.ok) throw new Error(String(answer.status));
    return answer.json();
  };
  const tellBlocks = async () => {
    const info = await get("api/v1/history/info");
    show("block", String(info.maxBlock));
    const offset = Math.max(0, info.count - rowsShown);
    const blocks = new Map((await get(`api/v1/history?offset=${offset}`)).map((past) => [past.hint.hash, past.block]));
    for (const tr of rows.children) {
      const block = blocks.get(tr.dataset.hash);
      if (block !== undefined) tr.lastElementChild.textContent = String(block);
    }
  };

  // A browser comes back by itself, but gives up for good when it is refused: then we do it.
  const connect = () => {
    const source = new EventSource(`?ids=1${Number(last) > 0 ? `&lastEventId=${encodeURIComponent(last)}` : ""}`);
    source.onopen = () => say("open", "live");
    source.onmessage = hear;
    source.onerror = () => {
      if (source.readyState === EventSource.CLOSED) {
        say("closed", "refused, trying again");
        setTimeout(connect, 5_000);
      } else {
        say("connecting", "connection lost, trying again");
      }
    };
  };

  by("address").textContent = location.origin + location.pathname;
  setInterval(count, 5_000);
  connect();
})();
