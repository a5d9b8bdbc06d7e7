"use strict";
(() => {
  const first = 100; // rows of a table that are shown before someone asks for all

  // A row is an element, or, beyond the first of a large table, still the line of its markup: the browser took it as the
  // text of a noscript, which is ten times cheaper than elements that nobody looks at.
  const tables = [...document.querySelectorAll("table.rows")].map((table) => {
    const section = table.closest("section"), late = section.querySelector("noscript.late");
    const markup = late ? late.textContent.split("\n").filter((s) => s.startsWith("<tr")) : [];
    return {
      section, body: table.tBodies[0], heads: [...table.tHead.rows[0].cells], more: section.querySelector(".more"), limit: first,
      rows: [...[...table.tBodies[0].rows].map((tr) => ({tr, ok: true})), ...markup.map((html) => ({html, ok: true}))],
    };
  });

  const entities = {"&amp;": "&", "&lt;": "<", "&gt;": ">", "&#34;": '"', "&#39;": "'"};
  const decode = (s) => s.includes("&") ? s.replace(/&(amp|lt|gt|#34|#39);/g, (e) => entities[e]) : s;
  const maker = document.createElement("template");

  function element(row) {
    if (!row.tr) {
      maker.innerHTML = row.html; // as it stands in this file, where its text is escaped
      row.tr = maker.content.firstElementChild;
    }
    return row.tr;
  }

  // value is what a cell sorts by.
  function value(row, i) {
    if (row.tr) {
      const td = row.tr.cells[i];
      return td.dataset.v ?? td.textContent;
    }
    row.cells ??= row.html.split("<td");
    const [, sort, text] = /^(?: class="t")?(?: data-v="([^"]*)")?>(.*)$/.exec(row.cells[i + 1]);
    return decode(sort ?? text);
  }

  const keys = (row) => row.keys ??= (row.tr ? row.tr.dataset.k : decode(/ data-k="([^"]*)"/.exec(row.html)[1])).split("|");

  const text = (row) => row.text ??= (keys(row).join(" ") + " " +
    (row.tr ? [...row.tr.cells].map((c) => c.textContent).join(" ") : decode(row.html.replace(/<[^>]*>/g, " ")))).toLowerCase();

  // Rows that can't be relied on stand below the others, whichever way numbers are sorted.
  const weakness = {unstable: 1, failed: 2, skipped: 2};
  const weak = (row) => weakness[keys(row).at(-1)] ?? 0;

  // show puts into the table what the filters leave, up to its limit, and returns how many they leave.
  function show(t) {
    const list = t.rows.filter((row) => row.ok);
    t.body.replaceChildren(...list.slice(0, t.limit).map(element));
    t.more.hidden = list.length <= t.limit;
    t.more.textContent = "Show all " + list.length + " rows";
    return list.length;
  }

  function sort(t, column) {
    const head = t.heads[column], words = head.classList.contains("t");
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const h of t.heads) h.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const sign = down ? -1 : 1;
    const order = new Intl.Collator("en", {numeric: true}).compare;
    const list = t.rows.map((row) => {
      const v = value(row, column);
      return {row, v: words ? v : v === "" ? null : Number(v), weak: words ? 0 : weak(row)};
    });
    list.sort((a, b) => {
      if (a.weak !== b.weak) return a.weak - b.weak;
      if (words) return sign * order(a.v, b.v);
      if (a.v === null || b.v === null) return (a.v === null) - (b.v === null);
      return sign * (a.v - b.v);
    });
    t.rows = list.map((x) => x.row);
    show(t);
  }

  const form = document.getElementById("filters"), input = document.getElementById("text");
  const selects = [...form.querySelectorAll("select")], count = document.getElementById("count");

  function filter() {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = selects.filter((s) => s.value).map((s) => [+s.dataset.key, s.value]);
    let shown = 0, all = 0;
    for (const t of tables) {
      for (const row of t.rows) row.ok = wanted.every(([k, v]) => keys(row)[k] === v) && words.every((w) => text(row).includes(w));
      const here = show(t);
      t.section.hidden = !here;
      shown += here;
      all += t.rows.length;
    }
    count.textContent = shown === all ? all + (all === 1 ? " row" : " rows") : shown + " of " + all + " rows";
  }

  for (const t of tables) {
    t.more.hidden = t.rows.length <= t.limit;
    t.more.addEventListener("click", () => { t.limit = Infinity; show(t); });
  }
  for (const t of tables) t.heads.forEach((h, i) => h.querySelector("button").addEventListener("click", () => sort(t, i)));
  // Folded charts are drawn when they are looked at.
  for (const fold of document.querySelectorAll("details.tail")) fold.addEventListener("toggle", () => {
    const late = fold.querySelector("noscript");
    if (late) late.parentElement.innerHTML = late.textContent;
  });
  form.addEventListener("input", filter);
  form.addEventListener("reset", () => setTimeout(filter));
  form.addEventListener("submit", (e) => e.preventDefault());
})();
