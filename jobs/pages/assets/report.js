"use strict";
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const one = (selector) => document.querySelector(selector);

  // Light or dark, as the reader's system says until the reader says otherwise.
  const toggle = one("button.theme");
  const root = document.documentElement;
  const dark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  toggle.hidden = false;
  toggle.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; });

  // Passages are kept once, and written where somebody opens them.
  let passages;
  const fill = (holder) => {
    if (holder.childElementCount > 1) return;
    passages = passages || JSON.parse(one("#report-passages").textContent);
    for (const [place, marks] of JSON.parse(holder.dataset.passages)) {
      const [title, heading, text] = passages[place];
      const letters = Array.from(text);  // places count characters, not UTF-16 units
      const block = document.createElement("div");
      const head = document.createElement("b");
      const body = document.createElement("pre");
      block.className = "passage";
      head.textContent = heading && heading !== title ? `${title} › ${heading}` : title;
      let at = 0;
      for (const [start, end] of marks) {
        const mark = document.createElement("mark");
        mark.textContent = letters.slice(start, end).join("");
        body.append(letters.slice(at, start).join(""), mark);
        at = end;
      }
      body.append(letters.slice(at).join(""));
      block.append(head, body);
      holder.append(block);
    }
  };
  document.addEventListener("toggle", (event) => {
    const opened = event.target;
    if (opened.open && opened.classList.contains("passages")) fill(opened);
  }, true);

  // Tables sort by their heads.
  for (const table of all("table.sortable")) {
    const heads = all("thead th", table);
    heads.forEach((head, column) => head.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "descending";
      heads.forEach((other) => other.setAttribute("aria-sort", "none"));
      head.setAttribute("aria-sort", down ? "ascending" : "descending");
      const value = (row) => {
        const cell = row.children[column];
        if (cell.dataset.value === undefined) return cell.textContent;
        return cell.dataset.value === "" ? -Infinity : Number(cell.dataset.value);
      };
      const body = table.tBodies[0];
      const rows = [...body.rows].sort((a, b) => {
        const [x, y] = [value(a), value(b)];
        return (x < y ? -1 : x > y ? 1 : 0) * (down ? 1 : -1);
      });
      body.append(...rows);
    }));
  }

  // All questions: filter, search, order.
  const filters = one(".filters");
  const list = one(".all .list");
  const cards = all(".all .card");
  const counted = one(".counted");
  const search = one(".filters input");
  const choices = all("select[data-filter]");
  const words = new Map();
  const text = (card) => {
    if (!words.has(card)) words.set(card, card.textContent.toLowerCase());
    return words.get(card);
  };
  const passes = (card, name, wanted) => {
    if (name === "tag") return JSON.parse(card.dataset.tags).includes(wanted);
    return card.dataset[name] === (wanted === "-" ? "" : wanted);
  };
  const apply = () => {
    const wanted = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const chosen = choices.filter((choice) => choice.value);
    let shown = 0;
    for (const card of cards) {
      const fits = chosen.every((choice) => passes(card, choice.dataset.filter, choice.value))
        && wanted.every((word) => text(card).includes(word));
      card.hidden = !fits;
      shown += fits;
    }
    counted.textContent = shown === cards.length ? `${shown} questions` : `${shown} of ${cards.length} questions`;
  };
  filters.hidden = false;
  search.addEventListener("input", apply);
  choices.forEach((choice) => choice.addEventListener("change", apply));
  const bad = (card) => (card.dataset.accepted === "no" ? 0 : card.dataset.accepted === "" ? 1 : 2);
  const score = (card) => (card.dataset.score === "" ? 9 : Number(card.dataset.score));
  const orders = {
    place: (a, b) => a.dataset.place - b.dataset.place,
    score: (a, b) => score(a) - score(b) || bad(a) - bad(b) || a.dataset.place - b.dataset.place,
    confidence: (a, b) => b.dataset.confidence - a.dataset.confidence,
  };
  one("select[data-order]").addEventListener("change", (event) => {
    list.append(...cards.slice().sort(orders[event.target.value]));
  });
  one("button.open").addEventListener("click", (event) => {
    const shown = cards.filter((card) => !card.hidden);
    const opening = shown.some((card) => !card.open);
    shown.forEach((card) => { card.open = opening; });
    event.target.textContent = opening ? "Close all" : "Open all shown";
  });
  apply();

  // `#id` opens its question, whatever is filtered.
  const go = () => {
    let id = location.hash.slice(1);
    try { id = decodeURIComponent(id); } catch { /* as it stands */ }
    const card = id && all(".card").find((each) => each.id === id);
    if (!card) return;
    card.hidden = false;
    card.open = true;
    card.scrollIntoView();
  };
  addEventListener("hashchange", go);
  go();
})();
