// Modals that the app opens.
import { act } from "./api.js";
import { collect, renderBlocks } from "./blocks.js";
import { h, iconButton } from "./dom.js";
import { state } from "./state.js";

let dialog = null;
let shown = "";

// Bring the open modal in line with the state. What was typed survives an update of its view.
export function showView() {
  const view = state.view;
  if (!view) {
    shown = "";
    dialog?.close();
    return;
  }
  if (shown === view.hash) return;
  const kept = dialog ? collect(dialog) : {};
  shown = view.hash;
  dialog?.remove();
  dialog = build(view, kept);
  document.body.append(dialog);
  dialog.showModal();
  (dialog.querySelector("[autofocus]") ?? dialog.querySelector(".body :is(input, textarea, select)"))?.focus();
}

function build(view, kept) {
  const place = { view: true, kept, scope: () => made };
  const dismiss = () => act("close");
  const submit = view.submit ? h("button", { class: "button primary", type: "submit" }, view.submit.text) : null;
  const form = h("form", { novalidate: true },
    h("header", {}, h("h2", { id: "dialog-title" }, view.title.text), iconButton("close", "Close", dismiss)),
    h("div", { class: "body" }, renderBlocks(view.blocks, place)),
    h("footer", {}, h("button", { class: "button", type: "button", onclick: dismiss }, view.close?.text ?? "Cancel"), submit));
  const made = h("dialog", { "aria-labelledby": "dialog-title" }, form);
  made.addEventListener("cancel", (event) => { event.preventDefault(); dismiss(); });
  made.addEventListener("close", () => { made.remove(); if (dialog === made) dialog = null; });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const values = collect(made);
    const missing = missingFields(made, values);
    showErrors(made, missing);
    if (Object.keys(missing).length) return;
    submit?.classList.add("busy");
    const answer = await act("submit", { values });
    submit?.classList.remove("busy");
    if (answer?.errors) showErrors(made, answer.errors);
  });
  return made;
}

function missingFields(scope, values) {
  const missing = {};
  for (const field of scope.querySelectorAll("[data-input]:not([data-optional])")) {
    const value = Object.values(values[field.dataset.input] ?? {})[0];
    if (!value) continue;
    const { type, ...held } = value;
    if (Object.values(held).every((one) => one === null || one.length === 0)) missing[field.dataset.input] = "Please fill this in.";
  }
  return missing;
}

function showErrors(scope, errors) {
  for (const field of scope.querySelectorAll("[data-input]")) {
    const message = errors[field.dataset.input];
    field.querySelector(".error")?.remove();
    field.classList.toggle("wrong", Boolean(message));
    const control = field.querySelector("input, textarea, select");
    control?.setAttribute("aria-invalid", String(Boolean(message)));
    if (!message) continue;
    const note = h("p", { class: "error", role: "alert", id: `error-${field.dataset.input}` }, message);
    control?.setAttribute("aria-describedby", note.id);
    field.append(note);
  }
  scope.querySelector(".wrong :is(input, textarea, select)")?.focus();
}
