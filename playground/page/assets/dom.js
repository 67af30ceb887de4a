// Elements, icons and small words. Text goes in as text nodes; only the server's own rendering,
// where everything is escaped, goes in as HTML (see `rich`).

export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "class") element.className = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "dataset") Object.assign(element.dataset, value);
    else if (name in element && typeof value !== "string") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false && child !== ""));
  return element;
}

export function rich(html, kind = "div", extra = "") {
  const element = h(kind, { class: `rich ${extra}`.trim() });
  element.innerHTML = html;
  return element;
}

const SHAPES = {
  hash: "M6.5 3 5 17M14 3l-1.5 14M3.5 7.5h14M2.5 12.5h14",
  people: "M7.5 9.5a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM2 16.5c.3-3 2.5-4.5 5.5-4.5s5.200 1.500 5.500 4.500M13 4a2.800 2.800 0 0 1 0 5.500M15 12.400c1.800.600 2.900 2 3 4.100",
  send: "m3.500 10 13-6.500-4 13-3-5.500-6-1ZM9.500 11l4-4.500",
  at: "M13 10a3 3 0 1 1-6 0 3 3 0 0 1 6 0Zm0 0v1.200c0 2.600 4 2.600 4-1.200a7 7 0 1 0-3 5.700",
  smile: "M10 17.500a7.500 7.500 0 1 0 0-15 7.500 7.500 0 0 0 0 15ZM7 12c1.500 2 4.500 2 6 0M7.500 7.800v.4M12.500 7.800v.4",
  reply: "M3.500 4.500h13v9h-7l-3.500 3v-3H3.500v-9Z",
  more: "M4.500 10h.01M10 10h.01M15.500 10h.01",
  pencil: "m4 13-.5 3.500L7 16l9-9-3-3-9 9ZM11.500 5.500l3 3",
  trash: "M4 6h12M8 6V3.500h4V6M5.500 6l.7 10.500h7.600L14.500 6M8.500 9v4.500M11.500 9v4.500",
  link: "M8.500 11.500a3.300 3.300 0 0 0 4.700 0l2.600-2.600a3.300 3.300 0 0 0-4.700-4.700l-.9.900M11.500 8.500a3.300 3.300 0 0 0-4.700 0l-2.600 2.600a3.300 3.300 0 0 0 4.700 4.700l.9-.9",
  close: "m5 5 10 10M15 5 5 15",
  back: "M12.500 4 6.500 10l6 6",
  right: "M4 10h12M11 5l5 5-5 5",
  down: "M10 4v12M5 11l5 5 5-5",
  sun: "M10 13.500a3.500 3.500 0 1 0 0-7 3.500 3.500 0 0 0 0 7ZM10 2v1.500M10 16.500V18M2 10h1.500M16.500 10H18M4.300 4.300l1.100 1.100M14.600 14.600l1.100 1.100M4.300 15.700l1.100-1.100M14.600 5.400l1.100-1.100",
  moon: "M16.500 11.800A7 7 0 0 1 8.200 3.500a7 7 0 1 0 8.300 8.300Z",
  auto: "M10 17.500a7.500 7.500 0 1 0 0-15 7.500 7.500 0 0 0 0 15ZM10 2.500v15M10 6l5.500 2M10 10h7M10 14l5.500-1.500",
  up_thumb: "M6.500 9v7.500H3.500V9h3Zm0 0 3.300-6c1.500 0 2.400 1 2.100 2.600L11.500 8h4c1 0 1.600.9 1.400 1.800l-1.300 5.400c-.2.800-.8 1.300-1.600 1.300H6.500",
  down_thumb: "M13.500 11V3.500h3V11h-3Zm0 0-3.300 6c-1.500 0-2.400-1-2.100-2.600l.4-2.400h-4c-1 0-1.600-.9-1.400-1.800l1.300-5.400c.2-.8.8-1.300 1.600-1.300h7.500",
  eye: "M2 10s2.800-5 8-5 8 5 8 5-2.800 5-8 5-8-5-8-5Zm8 2.300a2.300 2.300 0 1 0 0-4.600 2.300 2.300 0 0 0 0 4.600Z",
  plus: "M10 4v12M4 10h12",
  forward: "M7.500 4l6 6-6 6",
  fold: "M5 7.500l5 5 5-5",
  up_down: "M6.500 8 10 4.500 13.500 8M6.500 12l3.500 3.500 3.500-3.500",
  file: "M5 2.500h6.500L15 6v11.500H5v-15ZM11.500 2.500V6H15",
  spark: "M10 2.500c.6 4.500 2.400 6.500 7 7.500-4.600 1-6.400 3-7 7.500-.6-4.500-2.400-6.500-7-7.500 4.600-1 6.400-3 7-7.500Z",
  beacon: "M10 11a1.500 1.500 0 1 0 0-3 1.500 1.500 0 0 0 0 3ZM10 11v6M6.300 13.200a5 5 0 0 1 0-7.400M13.700 13.200a5 5 0 0 0 0-7.400M3.800 15.500a8.500 8.500 0 0 1 0-12M16.200 15.500a8.500 8.500 0 0 0 0-12",
  compass: "M10 17.500a7.500 7.500 0 1 0 0-15 7.500 7.500 0 0 0 0 15ZM13.300 6.700l-1.900 4.700-4.700 1.900 1.900-4.700 4.700-1.900Z",
};

export function icon(name) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  const path = document.createElementNS(space, "path");
  const attributes = { viewBox: "0 0 20 20", fill: "none", stroke: "currentColor", "stroke-width": name === "more" ? 2.4 : 1.55, "stroke-linecap": "round", "stroke-linejoin": "round", "aria-hidden": "true", class: "icon" };
  for (const [key, value] of Object.entries(attributes)) svg.setAttribute(key, value);
  path.setAttribute("d", SHAPES[name]);
  svg.append(path);
  return svg;
}

export function iconButton(name, label, onclick, props = {}) {
  return h("button", { type: "button", class: `icon-button ${props.class ?? ""}`, "aria-label": label, title: label, ...props.more, onclick }, icon(name));
}

export function avatar(person, small = false) {
  const size = small ? " small" : "";
  if (!person) return h("span", { class: `avatar app${size}`, "aria-hidden": "true" }, "?");
  if (person.bot) {
    const copilot = person.name === "Copilot";
    return h("span", { class: `avatar ${copilot ? "copilot" : "app"}${size}`, "aria-hidden": "true" }, icon(copilot ? "compass" : "beacon"));
  }
  const letters = person.name.split(" ").map((word) => word[0]).slice(0, 2).join("");
  const element = h("span", { class: `avatar${size}`, "aria-hidden": "true" }, letters);
  let hue = 0;
  for (const letter of person.id) hue = (hue * 33 + letter.codePointAt(0)) % 360;
  element.style.setProperty("--hue", hue);
  return element;
}

export function toast(text) {
  const note = h("div", { class: "toast" }, text);
  document.getElementById("toasts").append(note);
  setTimeout(() => note.remove(), 5200);
}

const clock = new Intl.DateTimeFormat(undefined, { hour: "numeric", minute: "2-digit" });
const date = new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long" });
const full = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "medium" });

const moment = (ts) => new Date(Number.parseFloat(ts) * 1000);
export const timeOf = (ts) => clock.format(moment(ts));

export function timeTag(ts) {
  return h("time", { datetime: moment(ts).toISOString(), title: full.format(moment(ts)) }, timeOf(ts));
}

export function dayOf(ts) {
  const day = moment(ts);
  const today = new Date();
  const yesterday = new Date(today.getFullYear(), today.getMonth(), today.getDate() - 1);
  if (day.toDateString() === today.toDateString()) return "Today";
  if (day.toDateString() === yesterday.toDateString()) return "Yesterday";
  return date.format(day);
}

// Bring the children of `parent` in line with `items`, [{key, version, build}], touching only
// what changed, so that focus, scroll position and selection survive live updates.
export function patch(parent, items) {
  const old = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  let place = parent.firstElementChild;
  for (const item of items) {
    let node = old.get(item.key);
    old.delete(item.key);
    if (!node || node.dataset.version !== item.version) {
      const fresh = item.build();
      fresh.dataset.key = item.key;
      fresh.dataset.version = item.version;
      if (node) {
        const focus = node.contains(document.activeElement) ? document.activeElement.dataset.focus : null;
        if (place === node) place = fresh;
        node.replaceWith(fresh);
        if (focus) fresh.querySelector(`[data-focus="${CSS.escape(focus)}"]`)?.focus();
      }
      node = fresh;
    }
    if (node === place) place = place.nextElementSibling;
    else parent.insertBefore(node, place);
  }
  for (const gone of old.values()) gone.remove();
}

// A menu below its button: arrow keys, Escape, click elsewhere.
export function menu(label, name, items, extra = {}) {
  const holder = h("span", { class: "menu-holder" });
  const opener = iconButton(name, label, () => (holder.querySelector(".menu") ? close() : open()), { more: { "aria-haspopup": "menu", "aria-expanded": "false" } });
  function close() {
    holder.querySelector(".menu")?.remove();
    opener.setAttribute("aria-expanded", "false");
    holder.closest(".toolbar")?.classList.remove("open");
    document.removeEventListener("pointerdown", outside, true);
  }
  function outside(event) {
    if (!holder.contains(event.target)) close();
  }
  function open() {
    const up = opener.getBoundingClientRect().bottom > innerHeight - 260;
    const list = h("div", { class: `menu${up ? " up" : ""}`, role: "menu", onkeydown: keys });
    for (const item of items()) {
      if (item === null) list.append(h("hr"));
      else list.append(h("button", { type: "button", role: "menuitem", class: item.danger ? "danger" : "", onclick: () => { close(); item.run(); } }, item.icon ? icon(item.icon) : null, item.label));
    }
    holder.append(list);
    holder.closest(".toolbar")?.classList.add("open");
    opener.setAttribute("aria-expanded", "true");
    document.addEventListener("pointerdown", outside, true);
    list.querySelector("button").focus();
  }
  function keys(event) {
    const buttons = [...holder.querySelectorAll(".menu button")];
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      buttons.at((buttons.indexOf(document.activeElement) + step) % buttons.length).focus();
    } else if (event.key === "Escape") {
      event.stopPropagation();
      close();
      opener.focus();
    }
  }
  if (extra.focus) opener.dataset.focus = extra.focus;
  holder.append(opener);
  return holder;
}
