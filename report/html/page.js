"use strict";
(() => {
  const tables = [...document.querySelectorAll("table.rows")].map((table) => ({
    body: table.tBodies[0],
    heads: [...table.tHead.rows[0].cells],
    section: table.closest("section"),
    rows: [...table.tBodies[0].rows].map((tr) => ({tr, keys: tr.dataset.k.split("|"), text: null})),
  }));

  // Rows that can't be relied on stand below the others, whichever way numbers are sorted.
  const weak = (tr) => tr.classList.contains("v-failed") || tr.classList.contains("v-skipped") ? 2 : +tr.classList.contains("v-unstable");

  function sort(t, column) {
    const head = t.heads[column], text = head.classList.contains("t");
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const h of t.heads) h.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const sign = down ? -1 : 1;
    const list = t.rows.map((row) => {
      const td = row.tr.cells[column], v = td.dataset.v ?? td.textContent;
      return {row, v: text ? v : v === "" ? null : Number(v), weak: text ? 0 : weak(row.tr)};
    });
    const order = new Intl.Collator("en", {numeric: true}).compare;
    list.sort((a, b) => {
      if (a.weak !== b.weak) return a.weak - b.weak;
      if (text) return sign * order(a.v, b.v);
      if (a.v === null || b.v === null) return (a.v === null) - (b.v === null);
      return sign * (a.v - b.v);
    });
    t.rows = list.map((x) => x.row);
    t.body.replaceChildren(...t.rows.map((row) => row.tr));
  }

  const form = document.getElementById("filters"), input = document.getElementById("text");
  const selects = [...form.querySelectorAll("select")], count = document.getElementById("count");

  function filter() {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = selects.filter((s) => s.value).map((s) => [+s.dataset.key, s.value]);
    let shown = 0, all = 0;
    for (const t of tables) {
      let here = 0;
      for (const row of t.rows) {
        if (words.length) row.text ??= (row.tr.dataset.k + " " + [...row.tr.cells].map((c) => c.textContent).join(" ")).toLowerCase();
        const ok = wanted.every(([k, v]) => row.keys[k] === v) && words.every((w) => row.text.includes(w));
        if (row.tr.hidden === ok) row.tr.hidden = !ok;
        here += ok;
      }
      t.section.hidden = !here;
      shown += here;
      all += t.rows.length;
    }
    count.textContent = shown === all ? all + (all === 1 ? " row" : " rows") : shown + " of " + all + " rows";
  }

  for (const t of tables) t.heads.forEach((h, i) => h.querySelector("button").addEventListener("click", () => sort(t, i)));
  form.addEventListener("input", filter);
  form.addEventListener("reset", () => setTimeout(filter));
  form.addEventListener("submit", (e) => e.preventDefault());
})();
