// The conversation and the thread beside it.
import { act } from "./api.js";
import { renderBlocks } from "./blocks.js";
import { mentionsBot, renderComposer, sendMessage } from "./composer.js";
import { avatar, h, icon, iconButton, patch } from "./dom.js";
import { messageItems, renderStatus } from "./message.js";
import { go, wide } from "./navigate.js";
import { all, changed, isRoot, person, repliesTo, roots, state, statusOf, threadOf } from "./state.js";

const NEAR = 90;
const TOP = 12;

// Follow new messages unless the reader has scrolled up. A message taller than the pane is shown
// from its first line: nobody reads an answer from its end.
function follow(scroll, items, force, work) {
  const near = scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < NEAR;
  const last = items.findLast((item) => item.message);
  const arrived = scroll.dataset.last !== (last?.key ?? "");
  const mine = arrived && last?.message.user === state.user;
  scroll.dataset.last = last?.key ?? "";
  work();
  if (force || near || mine) {
    const end = scroll.scrollHeight - scroll.clientHeight;
    const node = last && scroll.querySelector(`[data-key="${last.key}"]`);
    scroll.scrollTop = node ? Math.min(end, node.offsetTop - TOP) : end;
  } else if (arrived) offerBottom(scroll);
}

function offerBottom(scroll) {
  const pane = scroll.parentElement;
  if (pane.querySelector(".new-below")) return;
  const button = h("button", { type: "button", class: "new-below", onclick: () => { scroll.scrollTo({ top: scroll.scrollHeight, behavior: "smooth" }); button.remove(); } }, "New messages below");
  pane.append(button);
  scroll.addEventListener("scroll", () => {
    if (scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < NEAR) button.remove();
  });
}

export function renderChannel(pane) {
  const channel = state.channels.get(state.channel);
  const direct = channel.kind === "im";
  const name = `${channel.id} ${direct ? state.tab : ""} ${state.guide.notice}`;
  if (pane.dataset.shows !== name) {
    pane.dataset.shows = name;
    pane.replaceChildren(...(direct ? buildDirect(channel) : buildChannel(channel)));
    pane.dataset.fresh = "yes";
  }
  const force = pane.dataset.fresh === "yes";
  delete pane.dataset.fresh;
  if (direct) updateDirect(pane, channel, force);
  else updateChannel(pane, channel, force);
}

// Channels

function buildChannel(channel) {
  const head = h("header", { class: "pane-head" },
    iconButton("back", "Channels", () => go({ pane: "places" }), { class: "only-phone" }),
    h("div", { class: "titles" }, h("h1", {}, icon("hash"), channel.name), h("p", { class: "topic" }, channel.topic)),
    h("span", { class: "members", title: `${channel.members} members` }, icon("people"), String(channel.members)));
  const box = renderComposer({
    key: channel.id,
    id: "composer",
    placeholder: `Message #${channel.name}`,
    send: (text) => sendInChannel(text),
  });
  return [head, channel.hasBot ? notice() : "", scrollArea(), box];
}

// What answers here, so that nobody takes a quotation for what a model would have written.
function notice() {
  return state.guide.notice ? h("p", { class: "notice", role: "note" }, state.guide.notice) : "";
}

function scrollArea() {
  return h("div", { class: "scroll", tabindex: "-1" }, h("div", { class: "opening" }), h("div", { class: "stream", role: "log", "aria-live": "polite", "aria-relevant": "additions", "aria-label": "Messages" }));
}

async function sendInChannel(text) {
  const sent = await sendMessage(text);
  // Where there is room, the answer can be watched as it is written.
  if (sent?.ts && mentionsBot(text) && wide()) go({ thread: sent.ts });
  return sent;
}

function updateChannel(pane, channel, force) {
  const scroll = pane.querySelector(".scroll");
  const items = messageItems(roots(channel.id));
  follow(scroll, items, force, () => {
    patch(scroll.querySelector(".opening"), [{ key: "welcome", version: JSON.stringify([channel.id, state.guide]), build: () => welcome(channel) }]);
    patch(scroll.querySelector(".stream"), items);
  });
  // Whoever comes before anybody asked more than the examples reads from the top.
  if (force && onlyExamples(channel)) scroll.scrollTop = 0;
}

const examplesOf = (channel) => state.guide.kinds.filter((kind) => kind.channel === channel.id);

function onlyExamples(channel) {
  const examples = new Set(examplesOf(channel).map((kind) => kind.ts));
  return roots(channel.id).every((message) => examples.has(message.ts));
}

function welcome(channel) {
  const asks = channel.questions.map((question) => askButton(question, () => sendInChannel(`@Copilot ${question}`)));
  const kinds = examplesOf(channel).map(kindButton);
  return h("section", { class: "welcome" },
    h("h2", {}, channel.name),
    h("p", {}, asks.length ? "Mention Copilot with a question. It answers in a thread, from the team's documents, and shows where it read that. If the documents don't say, it tells you so." : channel.topic),
    h("div", { class: "lists" },
      asks.length ? h("div", { class: "asks" }, h("h3", {}, "Try one of these"), asks) : null,
      kinds.length ? h("div", { class: "asks kinds" }, h("h3", {}, "How Copilot replies"), kinds) : null));
}

function kindButton(kind) {
  return h("button", { type: "button", class: "ask", onclick: () => go({ thread: kind.ts }) },
    h("span", {}, h("b", {}, kind.name), h("span", { class: "question" }, kind.question), h("span", { class: "said" }, kind.said)),
    icon("right"));
}

function askButton(question, run) {
  const button = h("button", {
    type: "button",
    class: "ask",
    onclick: async () => {
      button.disabled = true;
      await run();
      button.disabled = false;
    },
  }, h("span", {}, question), icon("right"));
  return button;
}

// The app's own conversation

function buildDirect(channel) {
  const bot = person(state.bot);
  const tab = (name, label) => h("button", { type: "button", role: "tab", "aria-selected": String(state.tab === name), onclick: () => openTab(channel, name) }, label);
  const head = h("header", { class: "pane-head" },
    iconButton("back", "Channels", () => go({ pane: "places" }), { class: "only-phone" }),
    avatar(bot),
    h("div", { class: "titles" }, h("h1", {}, bot.name, h("span", { class: "tag" }, "APP")), h("p", { class: "topic chat-title" })),
    state.tab === "messages" ? h("button", { type: "button", class: "button", onclick: () => { state.newChat = true; changed(); document.getElementById("composer")?.focus(); } }, icon("plus"), "New chat") : null);
  const tabs = h("div", { class: "tabs", role: "tablist" }, tab("home", "Home"), tab("messages", "Messages"));
  act("open", { tab: state.tab });
  if (state.tab === "home") return [head, tabs, notice(), h("div", { class: "scroll" }, h("div", { class: "home-holder" }))];
  const box = renderComposer({ key: channel.id, id: "composer", placeholder: "Ask Copilot anything from the documents", direct: true, send: (text) => sendDirect(text, channel) });
  return [head, tabs, notice(), scrollArea(), box];
}

const openTab = (channel, tab) => go({ channel: channel.id, tab });

async function sendDirect(text, channel) {
  const sent = await sendMessage(text, state.newChat ? "" : chatRoot(channel.id));
  if (sent) state.newChat = false;
  return sent;
}

// The chat that goes on: the head of the newest thread.
function chatRoot(channel) {
  const heads = roots(channel).filter((message) => message.user === state.user);
  return heads.at(-1)?.ts ?? "";
}

function updateDirect(pane, channel, force) {
  const scroll = pane.querySelector(".scroll");
  if (state.tab === "home") {
    patch(scroll.querySelector(".home-holder"), [{ key: "home", version: state.home?.hash ?? "none", build: renderHome }]);
    return;
  }
  const root = state.newChat ? "" : chatRoot(channel.id);
  const messages = state.newChat ? [] : all(channel.id);
  pane.querySelector(".chat-title").textContent = state.titles.get(`${channel.id} ${root}`) ?? "Answers from the team's documents";
  const status = statusOf(channel.id, root);
  const items = withChats(messageItems(messages, { flat: true }), messages, channel.id);
  if (status) items.push({ key: "status", version: JSON.stringify(status), build: () => renderStatus(status) });
  follow(scroll, items, force, () => {
    patch(scroll.querySelector(".opening"), messages.length ? [] : [{ key: "hello", version: JSON.stringify(state.prompts[channel.id] ?? {}), build: () => hello(channel) }]);
    patch(scroll.querySelector(".stream"), items);
  });
}

// A line with its title above every chat but the first.
function withChats(items, messages, channel) {
  const first = messages.find((message) => isRoot(message) && message.user === state.user);
  return items.flatMap((item) => {
    const message = messages.find((one) => one.ts === item.key);
    if (!message || message === first || !isRoot(message) || message.user !== state.user) return [item];
    const title = state.titles.get(`${channel} ${message.ts}`) ?? "New chat";
    return [{ key: `chat ${item.key}`, version: title, build: () => h("div", { class: "day", role: "separator" }, title) }, item];
  });
}

function hello(channel) {
  const set = state.prompts[channel.id];
  const prompts = set?.prompts ?? [];
  return h("section", { class: "welcome" },
    avatar(person(state.bot)),
    h("h2", {}, `Hello, ${person(state.user).name.split(" ")[0]}`),
    h("p", {}, "Ask in your own words. Answers come from the team's documents, with the places they were read in. Nobody else sees this conversation."),
    prompts.length ? h("div", { class: "asks" }, h("h3", {}, set.title || "Try one of these"), prompts.map((prompt) => askButton(prompt.title, () => sendDirect(prompt.message, channel)))) : null);
}

function renderHome() {
  const view = state.home;
  if (!view) return h("div", { class: "home" }, h("p", { class: "empty" }, state.online ? "Copilot has not put anything here yet." : "Copilot is not connected."));
  const home = h("div", { class: "home" });
  home.append(renderBlocks(view.blocks, { view: true, scope: () => home }));
  return home;
}

// Threads

export function renderThread(pane) {
  const root = state.thread && state.messages.get(state.channel)?.get(state.thread);
  pane.hidden = !root;
  document.body.classList.toggle("with-thread", Boolean(root));
  if (!root) {
    pane.dataset.shows = "";
    if (document.body.dataset.pane === "thread") document.body.dataset.pane = "channel";
    return;
  }
  const force = pane.dataset.shows !== state.thread;
  if (force) {
    pane.dataset.shows = state.thread;
    pane.replaceChildren(...buildThread());
  }
  const messages = threadOf(state.channel, root.ts);
  const count = repliesTo(state.channel, root.ts).length;
  const status = statusOf(state.channel, root.ts);
  const scroll = pane.querySelector(".scroll");
  const items = messageItems(messages, { inThread: true });
  if (count) items.splice(1, 0, { key: "count", version: `${count}`, build: () => h("div", { class: "count" }, count === 1 ? "1 reply" : `${count} replies`) });
  if (status) items.push({ key: "status", version: JSON.stringify(status), build: () => renderStatus(status) });
  follow(scroll, items, force, () => patch(scroll.querySelector(".stream"), items));
}

function buildThread() {
  const channel = state.channels.get(state.channel);
  const head = h("header", { class: "pane-head" },
    iconButton("back", "Back to the channel", () => go({}), { class: "only-phone" }),
    h("div", { class: "titles" }, h("h2", {}, "Thread"), h("p", { class: "topic" }, channel.kind === "im" ? "Copilot" : `#${channel.name}`)),
    iconButton("close", "Close thread", () => go({})));
  const thread = state.thread;
  const box = renderComposer({ key: `thread ${thread}`, id: "thread-composer", placeholder: "Reply…", inThread: true, send: (text) => sendMessage(text, thread) });
  return [head, scrollArea(), box];
}
