// Start here: connect, draw what is known, and draw again whenever it changes.
import { live } from "./api.js";
import { showView } from "./dialog.js";
import { toast } from "./dom.js";
import { go, readAddress } from "./navigate.js";
import { renderChannel, renderThread } from "./panes.js";
import { applyTheme, neighbour, renderSidebar } from "./sidebar.js";
import { onChange, state } from "./state.js";

const pane = (id) => document.getElementById(id);
let planned = false;

function draw() {
  planned = false;
  if (!state.ready) return;
  renderSidebar(pane("sidebar"));
  renderChannel(pane("channel"));
  renderThread(pane("thread"));
  for (const note of document.querySelectorAll(".offline")) note.hidden = state.online;
  showView();
  showFound();
  const waiting = state.unread.size ? "• " : "";
  document.title = `${waiting}${state.channels.get(state.channel).kind === "im" ? "Copilot" : `#${state.channels.get(state.channel).name}`} · ${state.team}`;
}

// A link to one message scrolls to it once and lights it up.
function showFound() {
  if (!state.found) return;
  const message = document.getElementById(`mt-${state.found}`) ?? document.getElementById(`m-${state.found}`);
  if (!message) toast("That message is gone.");
  message?.scrollIntoView({ block: "center" });
  message?.classList.add("found");
  state.found = "";
}

onChange(() => {
  if (planned) return;
  planned = true;
  queueMicrotask(draw);
});

addEventListener("keydown", (event) => {
  if (event.key === "Escape" && state.thread && !document.querySelector("dialog[open]")) go({});
  if (event.altKey && !event.ctrlKey && (event.key === "ArrowUp" || event.key === "ArrowDown")) {
    event.preventDefault();
    neighbour(event.key === "ArrowUp" ? -1 : 1);
  }
});

document.addEventListener("visibilitychange", () => {
  if (!document.hidden && state.unread.delete(state.channel)) draw();
});

applyTheme();
readAddress();
live();
