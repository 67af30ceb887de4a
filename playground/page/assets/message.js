// One message, in a channel or in a thread.
import { act } from "./api.js";
import { renderBlocks } from "./blocks.js";
import { ask } from "./ask.js";
import { avatar, dayOf, h, icon, iconButton, menu, rich, timeOf, timeTag, toast } from "./dom.js";
import { go } from "./navigate.js";
import { changed, isDirect, isRoot, person, repliesTo, state, statusOf } from "./state.js";

const QUICK = [["white_check_mark", "✅"], ["eyes", "👀"], ["+1", "👍"]];
const SAME_BREATH = 300;
const STATUS_SECONDS = 120;

// Items for `patch`: messages with dividers between days.
export function messageItems(messages, { inThread = false, flat = false } = {}) {
  const items = [];
  let before = null;
  for (const message of messages) {
    const channel = message.channel ?? state.channel;
    const day = dayOf(message.ts);
    const newDay = !inThread && (!before || dayOf(before.ts) !== day);
    if (newDay) items.push({ key: `day ${day}`, version: day, build: () => h("div", { class: "day", role: "separator" }, day) });
    const follows = !newDay && !(flat && isRoot(message)) && before && continues(before, message) && !(inThread && before === messages[0]);
    const replies = inThread || flat ? [] : repliesTo(channel, message.ts);
    const status = inThread || flat ? null : statusOf(channel, message.ts);
    const editing = state.editing === `${inThread} ${message.ts}`;
    items.push({
      key: message.ts,
      message,
      version: JSON.stringify([message, follows, replies.map((r) => [r.ts, r.user]), status, editing, state.user, state.fresh.has(message.ts)]),
      build: () => renderMessage(message, { channel, follows, replies, status, editing, inThread, flat }),
    });
    before = message;
  }
  return items;
}

function continues(before, message) {
  return before.user === message.user && before.username === message.username
    && !before.ephemeral_to && !message.ephemeral_to && before.subtype !== "tombstone"
    && Number(message.ts) - Number(before.ts) < SAME_BREATH;
}

function renderMessage(message, { channel, follows, replies, status, editing, inThread, flat }) {
  const author = person(message.user);
  const gone = message.subtype === "tombstone";
  const name = message.username ?? author?.name ?? (gone ? "Deleted" : "Somebody");
  const kinds = ["message", follows && "follows", message.ephemeral_to && "whisper", gone && "gone", message.streaming && "writing"];
  const element = h("article", { class: kinds.filter(Boolean).join(" "), "aria-label": `${name}, ${timeOf(message.ts)}`, id: `m${inThread ? "t" : ""}-${message.ts}` });
  const place = { channel, ts: message.ts, live: message.streaming, scope: () => element };
  element.append(
    h("div", { class: "side" }, follows ? timeTag(message.ts) : avatar(gone ? null : author)),
    h("div", { class: "main" },
      message.ephemeral_to ? h("div", { class: "whisper-note" }, icon("eye"), "Only visible to you") : null,
      follows ? null : h("div", { class: "head" }, h("b", {}, name), message.bot ? h("span", { class: "tag" }, "APP") : null, timeTag(message.ts)),
      editing ? renderEditor(message, channel) : renderBody(message, place),
      renderReactions(message, channel),
      replies.length && !isDirect(channel) ? renderReplies(message, replies) : null,
      status ? renderStatus(status, true) : null,
    ),
  );
  if (!gone && !message.ephemeral_to && !editing) element.append(renderToolbar(message, channel, inThread || flat));
  element.addEventListener("click", (event) => touched(event, element));
  markMentions(element);
  return element;
}

// A tap shows the toolbar where there is nothing to hover with.
function touched(event, element) {
  if (event.target.closest("a, button, select, input")) return;
  document.querySelectorAll(".touched").forEach((other) => other !== element && other.classList.remove("touched"));
  element.classList.toggle("touched");
}

function markMentions(element) {
  for (const mention of element.querySelectorAll(".mention.user")) mention.classList.toggle("self", mention.dataset.user === state.user);
  for (const mention of element.querySelectorAll(".mention.channel")) mention.addEventListener("click", () => go({ channel: mention.dataset.channel }));
}

function renderBody(message, place) {
  const body = h("div", {});
  if (message.blocks.length) body.append(renderBlocks(message.blocks, place));
  else if (message.html) body.append(rich(message.html));
  else if (message.streaming) body.append(rich("<p></p>", "div", "live"));
  for (const attachment of message.attachments) body.append(renderAttachment(attachment, place));
  for (const file of message.files ?? []) body.append(h("div", { class: "file" }, icon("file"), file.title ?? file.name ?? "File"));
  if (message.edited) (body.querySelector(".rich > p:last-child") ?? body).append(h("span", { class: "edited" }, "(edited)"));
  return body;
}

function renderAttachment(attachment, place) {
  return h("div", { class: `attachment ${attachment.color}` },
    attachment.pretext ? rich(attachment.pretext) : null,
    attachment.title ? rich(attachment.title, "div", "title") : null,
    attachment.html ? rich(attachment.html) : null,
    attachment.fields.length ? h("div", { class: "fields" }, attachment.fields.map((field) => h("div", {}, h("b", {}, field.title), rich(field.html)))) : null,
    attachment.blocks.length ? renderBlocks(attachment.blocks, place) : null,
    attachment.footer ? h("div", { class: "context" }, attachment.footer) : null);
}

function renderReactions(message, channel) {
  if (!message.reactions.length) return null;
  return h("div", { class: "reactions" }, message.reactions.map((reaction) => {
    const mine = reaction.users.includes(state.user);
    const names = reaction.users.map((id) => person(id)?.name ?? id).join(", ");
    return h("button", {
      type: "button",
      class: "reaction",
      title: names,
      "aria-pressed": String(mine),
      "aria-label": `${reaction.name}, ${reaction.count}: ${names}`,
      dataset: { focus: `reaction ${reaction.name}` },
      onclick: () => act("react", { channel, ts: message.ts, name: reaction.name, add: !mine }),
    }, reaction.character, h("span", {}, String(reaction.count)));
  }));
}

function renderReplies(message, replies) {
  const faces = [...new Set(replies.map((reply) => reply.user))].slice(0, 4).map((id) => avatar(person(id), true));
  const last = replies.at(-1);
  return h("button", { type: "button", class: "replies", dataset: { focus: "replies" }, onclick: () => go({ thread: message.ts }) },
    h("span", { class: "faces" }, faces),
    h("b", {}, replies.length === 1 ? "1 reply" : `${replies.length} replies`),
    h("span", { class: "quiet" }, `${state.fresh.has(message.ts) ? "New" : "Last"} at ${timeOf(last.ts)}`));
}

export function renderStatus(status, inMessage = false) {
  const bot = person(state.bot);
  const words = h("span", { class: "words" });
  const messages = status.loading_messages ?? [];
  let turn = 0;
  const say = () => words.replaceChildren(h("b", {}, bot.name), ` ${messages.length ? messages[turn++ % messages.length] : status.status}`);
  say();
  const left = Math.max(0, STATUS_SECONDS - (Date.now() / 1000 - (status.since ?? Date.now() / 1000)));
  setTimeout(() => element.remove(), left * 1000);
  const element = h("div", { class: `status${inMessage ? " in-message" : ""}`, role: "status" }, avatar(bot, true), words);
  if (messages.length > 1) {
    const timer = setInterval(() => (element.isConnected || turn < 2 ? say() : clearInterval(timer)), 2400);
  }
  return element;
}

function renderEditor(message, channel) {
  const box = h("textarea", { class: "input", "aria-label": "Edit message" });
  box.value = message.source;
  const stop = () => { state.editing = ""; changed(); };
  const save = async () => {
    if (box.value.trim() && box.value !== message.source) await act("edit", { channel, ts: message.ts, text: box.value });
    stop();
  };
  box.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { event.stopPropagation(); stop(); }
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); save(); }
  });
  setTimeout(() => { box.focus(); box.setSelectionRange(box.value.length, box.value.length); });
  return h("div", { class: "editing" }, box, h("div", { class: "actions" },
    h("button", { type: "button", class: "button primary", onclick: save }, "Save"),
    h("button", { type: "button", class: "button", onclick: stop }, "Cancel")));
}

function renderToolbar(message, channel, inThread) {
  const mine = message.user === state.user;
  const react = (name) => act("react", { channel, ts: message.ts, name, add: !message.reactions.some((one) => one.name === name && one.users.includes(state.user)) });
  return h("div", { class: "toolbar", role: "toolbar", "aria-label": "Message actions" },
    QUICK.map(([name, character]) => h("button", { type: "button", class: "icon-button", title: `React with ${name.replaceAll("_", " ")}`, "aria-label": `React with ${name.replaceAll("_", " ")}`, onclick: () => react(name) }, character)),
    inThread ? null : iconButton("reply", "Reply in thread", () => go({ thread: message.ts })),
    menu("More actions", "more", () => [
      ...state.shortcuts.map((shortcut) => ({ label: shortcut.title, icon: "compass", run: () => act("shortcut", { id: shortcut.id, channel, ts: message.ts }) })),
      { label: "Copy link", icon: "link", run: () => copyLink(channel, message) },
      ...(mine ? [null, { label: "Edit message", icon: "pencil", run: () => { state.editing = `${inThread && !isDirect(channel)} ${message.ts}`; changed(); } },
        { label: "Delete message", icon: "trash", danger: true, run: () => remove(channel, message) }] : []),
    ], { focus: "more" }));
}

async function remove(channel, message) {
  const sure = await ask("Delete this message?", h("p", {}, "It goes for everyone, and Copilot is told about it."), "Delete", "Keep it", "danger");
  if (sure) act("delete", { channel, ts: message.ts });
}

function copyLink(channel, message) {
  const root = message.thread_ts && message.thread_ts !== message.ts ? `?thread_ts=${message.thread_ts}` : "";
  navigator.clipboard?.writeText(`${location.origin}/archives/${channel}/p${message.ts.replace(".", "")}${root}`);
  toast("Link copied.");
}
