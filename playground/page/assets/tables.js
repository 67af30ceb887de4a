// A table with pages and sorting. What a reader chose stays while the message is drawn again.
import { h, icon, rich } from "./dom.js";

const chosen = new Map();

export function dataTable(block, place) {
  const key = `${place.ts ?? "view"} ${block.block_id} ${block.caption}`;
  const view = chosen.get(key) ?? { column: -1, falling: false, page: 0 };
  chosen.set(key, view);
  const pages = Math.ceil(block.rows.length / block.page_size);
  const body = h("tbody", {});
  const heads = block.head.map((cell, at) => head(cell, at));
  const before = step("Rows before", "back", -1);
  const after = step("Rows after", "forward", 1);
  const where = h("span", { class: "quiet", role: "status" });
  const foot = pages > 1 ? h("div", { class: "pages" }, where, before, after) : null;

  function head(cell, at) {
    const button = h("button", { type: "button", dataset: { focus: `${key} ${at}` }, onclick: () => sort(at) }, rich(cell.html, "span"), icon("up_down"));
    return h("th", { scope: "col", class: block.numeric[at] ? "right" : "" }, button);
  }

  function step(label, name, by) {
    return h("button", { type: "button", class: "icon-button", "aria-label": label, title: label, dataset: { focus: `${key} ${name}` }, onclick: () => { view.page += by; draw(); } }, icon(name));
  }

  function sort(at) {
    Object.assign(view, { falling: view.column === at && !view.falling, column: at, page: 0 });
    draw();
  }

  function draw() {
    const rows = [...block.rows];
    if (view.column >= 0) {
      rows.sort((one, other) => compare(one[view.column].by, other[view.column].by) * (view.falling ? -1 : 1));
    }
    const first = view.page * block.page_size;
    const shown = rows.slice(first, first + block.page_size);
    body.replaceChildren(...shown.map((row) => h("tr", {}, row.map(cellOf))));
    heads.forEach((one, at) => one.setAttribute("aria-sort", at !== view.column ? "none" : view.falling ? "descending" : "ascending"));
    where.textContent = `${first + 1}–${first + shown.length} of ${rows.length}`;
    before.disabled = view.page === 0;
    after.disabled = view.page >= pages - 1;
  }

  const cellOf = (cell, at) => {
    const side = block.numeric[at] ? "right" : "";
    const inside = rich(cell.html, "span");
    return at === block.row_header ? h("th", { scope: "row", class: side }, inside) : h("td", { class: side }, inside);
  };

  draw();
  return h("figure", { class: "rich data-table" },
    h("figcaption", {}, block.caption),
    h("div", { class: "table", role: "region", "aria-label": block.caption, tabindex: "0" },
      h("table", {}, h("thead", {}, h("tr", {}, heads)), body)),
    foot);
}

const compare = (one, other) => (typeof one === "number" ? one - other : one.localeCompare(other));
