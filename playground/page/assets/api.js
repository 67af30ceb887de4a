// Everything the page asks of the server.
import { toast } from "./dom.js";
import { apply, changed, state } from "./state.js";

export async function act(action, body = {}) {
  try {
    const response = await fetch(`/do/${action}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ ...body, user: state.user }),
    });
    const answer = await response.json();
    if (!response.ok) throw new Error(answer.error);
    return answer;
  } catch (error) {
    toast(error.message === "Failed to fetch" ? "The playground is not running any more." : error.message);
    return null;
  }
}

let socket = null;

// One connection; the server sends the whole state first, then every change.
export function live() {
  socket?.close();
  const current = new WebSocket(`${location.origin.replace("http", "ws")}/do/live?user=${state.user}`);
  socket = current;
  current.onmessage = (event) => {
    if (current !== socket) return;
    state.connected = true;
    apply(JSON.parse(event.data));
  };
  current.onclose = () => {
    if (current !== socket) return;
    state.connected = false;
    changed();
    setTimeout(() => current === socket && live(), 1200);
  };
}
