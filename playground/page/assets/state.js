// What the page knows, and how updates change it. `changed` is called after every change.

export const state = {
  user: "U0YOU",
  ready: false,
  connected: false,
  people: new Map(),
  channels: new Map(),
  messages: new Map(),
  ephemerals: [],
  statuses: new Map(),
  prompts: {},
  titles: new Map(),
  unread: new Set(),
  fresh: new Set(),
  pressed: new Map(),
  channel: "",
  thread: "",
  tab: "messages",
  newChat: false,
  editing: "",
  view: null,
  home: null,
  guide: { notice: "", kinds: [] },
};

let listener = () => {};
export const onChange = (callback) => { listener = callback; };
export const changed = () => listener();

export function load(data) {
  Object.assign(state, {
    ready: true,
    team: data.team,
    user: data.user,
    bot: data.bot,
    online: data.online,
    groups: data.groups,
    prompts: data.prompts,
    view: data.view,
    home: data.home,
    guide: data.guide,
    shortcuts: data.shortcuts,
    ephemerals: data.ephemerals,
    people: new Map(data.people.map((person) => [person.id, person])),
    channels: new Map(data.channels.map((channel) => [channel.id, channel])),
    messages: new Map(Object.entries(data.messages).map(([id, list]) => [id, new Map(list.map((m) => [m.ts, m]))])),
    statuses: new Map(data.statuses.map((status) => [`${status.channel} ${status.thread_ts}`, status])),
    titles: new Map(data.titles.map((title) => [`${title.channel} ${title.thread_ts}`, title.title])),
  });
  settle();
  changed();
}

// An address without a channel, or with one that this person can't see, leads to the first; one of
// somebody else's chat with the app to the person's own.
export function settle() {
  if (state.channels.has(state.channel)) return;
  const wanted = [...state.channels.values()].find((channel) => (channel.kind === "im") === state.channel.startsWith("D"));
  state.channel = (wanted ?? state.channels.values().next().value).id;
  state.thread = "";
}

export function apply(update) {
  const { kind, channel, detail } = update;
  if (kind === "state") return load(update.state);
  if (kind === "message") arrived(channel, update.message);
  if (kind === "deleted") {
    state.messages.get(channel)?.delete(update.ts);
    state.ephemerals = state.ephemerals.filter((message) => message.ts !== update.ts);
    if (state.thread === update.ts) state.thread = "";
  }
  if (kind === "ephemeral") {
    state.ephemerals = [...state.ephemerals.filter((m) => m.ts !== update.message.ts), update.message];
  }
  if (kind === "status") {
    const key = `${channel} ${detail.thread_ts}`;
    if (detail.status) state.statuses.set(key, detail);
    else state.statuses.delete(key);
  }
  if (kind === "title") state.titles.set(`${channel} ${detail.thread_ts}`, detail.title);
  if (kind === "prompts") state.prompts = { ...state.prompts, [channel]: detail };
  if (kind === "view") state.view = detail.view;
  if (kind === "home") state.home = detail;
  if (kind === "guide") state.guide = detail;
  if (kind === "presence") state.online = detail.online;
  return changed();
}

function arrived(channel, message) {
  const list = state.messages.get(channel);
  if (!list) return;
  const isNew = !list.has(message.ts);
  list.set(message.ts, message);
  if (!isNew || message.user === state.user) return;
  const root = message.thread_ts ?? message.ts;
  if (channel !== state.channel || document.hidden) state.unread.add(channel);
  if (root !== message.ts && root !== state.thread) state.fresh.add(root);
}

export const person = (id) => state.people.get(id);
export const isDirect = (channel) => state.channels.get(channel)?.kind === "im";
export const isRoot = (message) => !message.thread_ts || message.thread_ts === message.ts;
export const all = (channel) => [...(state.messages.get(channel)?.values() ?? []), ...state.ephemerals.filter((m) => m.channel === channel)].sort((a, b) => a.ts.localeCompare(b.ts));
export const roots = (channel) => all(channel).filter(isRoot);
export const threadOf = (channel, ts) => all(channel).filter((m) => m.ts === ts || m.thread_ts === ts);
export const repliesTo = (channel, ts) => threadOf(channel, ts).filter((m) => m.ts !== ts && !m.ephemeral_to);
export const statusOf = (channel, ts) => state.statuses.get(`${channel} ${ts}`);
