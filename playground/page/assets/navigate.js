// Where the page is: channel, thread, tab; kept in the address so that links and Back work.
import { changed, settle, state } from "./state.js";

export const wide = () => matchMedia("(min-width: 1121px)").matches;

export function go({ channel = state.channel, thread = "", tab = "messages", pane }, { replace = false } = {}) {
  if (channel !== state.channel) state.newChat = false;
  Object.assign(state, { channel, thread, tab, editing: "" });
  state.unread.delete(channel);
  state.fresh.delete(thread);
  document.body.dataset.pane = pane ?? (thread ? "thread" : "channel");
  const address = `/archives/${channel}${thread ? `?thread_ts=${thread}` : tab === "home" ? "?tab=home" : ""}`;
  const entry = { channel, thread, tab, pane: document.body.dataset.pane };
  if (replace) history.replaceState(entry, "", address);
  else history.pushState(entry, "", address);
  changed();
}

addEventListener("popstate", (event) => {
  if (event.state) {
    go(event.state, { replace: true });
    return;
  }
  readAddress();
  settle();
  changed();
});

// `/archives/C…`, `/archives/C…/p1700000000000100?thread_ts=…`
export function readAddress() {
  const [, , channel = "", link = ""] = location.pathname.split("/");
  const query = new URLSearchParams(location.search);
  const ts = link ? `${link.slice(1, -6)}.${link.slice(-6)}` : "";
  state.channel = channel;
  state.thread = query.get("thread_ts") ?? "";
  state.tab = query.get("tab") === "home" ? "home" : "messages";
  state.found = ts;
  document.body.dataset.pane = state.thread ? "thread" : "channel";
}
