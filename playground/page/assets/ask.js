// The question before a press that wants one.
import { h } from "./dom.js";

// `confirm`: Slack's confirmation object; `body`: its text, rendered.
export function confirmFirst(confirm, body) {
  return ask(confirm.title?.text ?? "Are you sure?", body, confirm.confirm?.text ?? "Yes", confirm.deny?.text ?? "Cancel", confirm.style);
}

export function ask(title, body, yes, no, style = "primary") {
  return new Promise((resolve) => {
    const made = h("dialog", { class: "ask-first" }, h("form", { method: "dialog" },
      h("header", {}, h("h2", {}, title)),
      h("div", { class: "body" }, body),
      h("footer", {}, h("button", { class: "button", value: "no" }, no), h("button", { class: `button ${style}`, value: "yes", autofocus: true }, yes))));
    made.addEventListener("close", () => { resolve(made.returnValue === "yes"); made.remove(); });
    document.body.append(made);
    made.showModal();
  });
}
