// The message box: Enter sends, @ and # suggest, up-arrow edits the last message.
import { act } from "./api.js";
import { avatar, h, icon, iconButton } from "./dom.js";
import { all, changed, person, state } from "./state.js";

const drafts = new Map();

// `key` names the draft; `send(text)` resolves to whether it went; who writes to the app directly
// need not mention it.
export function renderComposer({ key, id, placeholder, send, inThread = false, direct = false }) {
  const box = h("textarea", { id, rows: 1, placeholder, "aria-label": placeholder, "aria-autocomplete": "list", autocomplete: "off" });
  const list = h("ul", { class: "suggestions", role: "listbox", id: `${id}-suggestions`, hidden: true });
  const button = h("button", { type: "button", class: "send", "aria-label": "Send", title: "Send", onclick: submit }, icon("send"));
  const mention = direct ? null : [
    iconButton("at", "Mention Copilot", () => insert("@Copilot ")),
    h("span", { class: "keys" }, h("kbd", {}, "@"), " to ask Copilot"),
  ];
  const element = h("div", { class: "composer" }, list, h("div", { class: "box", onclick: (event) => event.target === event.currentTarget && box.focus() }, box,
    h("div", { class: "row" }, mention, h("span", { class: "offline", role: "status", hidden: state.online }, "Copilot is not connected"), button)));
  box.value = drafts.get(key) ?? "";
  let found = [];
  let active = 0;

  function grow() {
    drafts.set(key, box.value);
    button.classList.toggle("ready", box.value.trim() !== "");
    if (!CSS.supports("field-sizing", "content")) {
      box.style.height = "auto";
      box.style.height = `${box.scrollHeight}px`;
    }
  }

  function insert(text, from = box.selectionStart) {
    const end = box.selectionEnd;
    const gap = from > 0 && !/\s/.test(box.value[from - 1]) ? " " : "";
    box.setRangeText(gap + text, from, end, "end");
    box.focus();
    close();
    grow();
  }

  async function submit() {
    const text = box.value.trim();
    if (!text) return;
    box.value = "";
    grow();
    close();
    if (!(await send(text))) {
      box.value ||= text;
      grow();
    }
  }

  function token() {
    const match = /(^|\s)([@#][\p{L}\w.-]*)$/u.exec(box.value.slice(0, box.selectionStart));
    return match?.[2];
  }

  function suggest() {
    const typed = token();
    found = typed ? matching(typed) : [];
    active = 0;
    list.hidden = found.length === 0;
    draw();
  }

  function draw() {
    list.replaceChildren(...found.map((one, place) => h("li", {
      role: "option",
      id: `${id}-suggestion-${place}`,
      "aria-selected": String(place === active),
      onpointerdown: (event) => { event.preventDefault(); take(place); },
    }, one.face, h("span", {}, one.name), h("small", {}, one.about))));
    if (found.length) box.setAttribute("aria-activedescendant", `${id}-suggestion-${active}`);
    else box.removeAttribute("aria-activedescendant");
    list.children[active]?.scrollIntoView({ block: "nearest" });
  }

  function take(place) {
    const from = box.selectionStart - token().length;
    insert(`${found[place].text} `, from);
  }

  function close() {
    found = [];
    list.hidden = true;
    draw();
  }

  function keys(event) {
    if (event.isComposing) return;
    if (found.length) {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (step) {
        event.preventDefault();
        active = (active + step + found.length) % found.length;
        draw();
        return;
      }
      if (event.key === "Enter" || event.key === "Tab") {
        event.preventDefault();
        take(active);
        return;
      }
      if (event.key === "Escape") {
        event.stopPropagation();
        close();
        return;
      }
    }
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      submit();
    }
    if (event.key === "ArrowUp" && !box.value) editLast(event, inThread);
  }

  box.addEventListener("input", () => { grow(); suggest(); });
  box.addEventListener("keydown", keys);
  box.addEventListener("blur", close);
  grow();
  return element;
}

function matching(typed) {
  const word = typed.slice(1).toLowerCase();
  if (typed[0] === "#") {
    return [...state.channels.values()].filter((one) => one.kind !== "im" && one.name.includes(word))
      .map((one) => ({ face: icon("hash"), name: one.name, about: "", text: `#${one.name}` }));
  }
  const people = [...state.people.values()].filter((one) => one.id !== state.user);
  people.sort((a, b) => (b.id === state.bot) - (a.id === state.bot) || a.name.localeCompare(b.name));
  const named = (name) => name.toLowerCase().split(/[ .-]/).some((part) => part.startsWith(word)) || name.toLowerCase().startsWith(word);
  return [
    ...people.filter((one) => named(one.name)).map((one) => ({ face: avatar(one, true), name: one.name, about: one.title, text: `@${one.name}` })),
    ...state.groups.filter((one) => word && named(one.handle)).map((one) => ({ face: icon("people"), name: one.handle, about: one.name, text: `@${one.handle}` })),
  ].slice(0, 7);
}

function editLast(event, inThread) {
  const mine = all(state.channel).filter((one) => one.user === state.user && !one.ephemeral_to && (!inThread || one.thread_ts === state.thread));
  const last = mine.at(-1);
  if (!last) return;
  event.preventDefault();
  state.editing = `${inThread} ${last.ts}`;
  changed();
}

export const mentionsBot = (text) => text.includes(`@${person(state.bot).name}`);

export async function sendMessage(text, threadTs) {
  return act("send", { channel: state.channel, text, ...(threadTs ? { thread_ts: threadTs } : {}) });
}
