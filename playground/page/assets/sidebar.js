// Channels, the app, and who one is.
import { live } from "./api.js";
import { avatar, h, icon, iconButton, patch } from "./dom.js";
import { go } from "./navigate.js";
import { changed, person, state } from "./state.js";

const THEMES = ["auto", "light", "dark"];
const THEME_ICONS = { auto: "auto", light: "sun", dark: "moon" };
let theme = localStorage.getItem("theme") ?? "auto";

export function applyTheme() {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

function nextTheme() {
  theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
  localStorage.setItem("theme", theme);
  applyTheme();
  changed();
}

export function renderSidebar(sidebar) {
  const channels = [...state.channels.values()];
  const direct = channels.find((channel) => channel.kind === "im");
  const where = [state.channel, state.user, [...state.unread], state.online, state.connected, theme];
  patch(sidebar, [
    { key: "team", version: `${state.connected}`, build: renderTeam },
    {
      key: "places",
      version: JSON.stringify([where, channels]),
      build: () => h("div", { class: "places" },
        h("h2", {}, "Channels"),
        channels.filter((channel) => channel.kind !== "im").map(renderChannel),
        h("h2", {}, "Apps"),
        direct ? renderApp(direct) : null),
    },
    { key: "me", version: JSON.stringify([state.user, theme]), build: renderMe },
  ]);
}

function renderTeam() {
  return h("div", { class: "team" }, h("img", { src: "/page/mark.svg", alt: "" }), h("span", {}, state.team, h("small", {}, state.connected ? "A place to try things" : "Connecting…")));
}

function placeButton(channel, children) {
  const here = channel.id === state.channel;
  const unread = state.unread.has(channel.id) && !here;
  return h("button", {
    type: "button",
    class: `place${unread ? " unread" : ""}`,
    "aria-current": here ? "page" : undefined,
    dataset: { channel: channel.id, focus: channel.id },
    onclick: () => go({ channel: channel.id }),
  }, children, unread ? [h("span", { class: "visually-hidden" }, "unread"), h("i", { class: "dot" })] : null);
}

const renderChannel = (channel) => placeButton(channel, [icon("hash"), h("span", {}, channel.name)]);

function renderApp(channel) {
  const bot = person(state.bot);
  const online = state.online ? "connected" : "not connected";
  return placeButton(channel, [
    avatar(bot, true),
    h("span", {}, bot.name),
    h("i", { class: `presence${state.online ? " on" : ""}`, title: `${bot.name} is ${online}`, role: "img", "aria-label": online }),
  ]);
}

function renderMe() {
  const me = person(state.user);
  const people = [...state.people.values()].filter((one) => !one.bot);
  const choice = h("select", { "aria-label": "Act as somebody else", dataset: { focus: "me" }, onchange: () => switchUser(choice.value) },
    people.map((one) => h("option", { value: one.id, selected: one.id === state.user }, `${one.name} · ${one.title}`)));
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
  return h("div", { class: "me" },
    h("label", { title: "Act as somebody else" }, avatar(me), h("span", { class: "who" }, me.name, h("small", {}, me.title)), choice),
    iconButton(THEME_ICONS[theme], `Colours: ${theme}. Switch to ${next}`, nextTheme, { more: { dataset: { focus: "theme" } } }));
}

function switchUser(user) {
  const direct = state.channels.get(state.channel)?.kind === "im";
  Object.assign(state, { user, newChat: false, thread: direct ? "" : state.thread, channel: direct ? `D${user.slice(1)}` : state.channel });
  live();
}

// Alt and the arrow keys go up and down the list.
export function neighbour(step) {
  const ids = [...state.channels.keys()];
  go({ channel: ids.at((ids.indexOf(state.channel) + step) % ids.length) });
}
