// Block Kit, as elements. Text objects arrive with safe HTML from the server.
import { act } from "./api.js";
import { confirmFirst } from "./ask.js";
import { h, icon, iconButton, menu, rich } from "./dom.js";
import { person, state } from "./state.js";
import { dataTable } from "./tables.js";

// Where the blocks are decides what a press sends: {channel, ts} for a message, {view} otherwise.
export function renderBlocks(blocks, place) {
  return h("div", { class: "blocks" }, blocks.map((block) => BLOCKS[block.type]?.(block, place)));
}

export const textOf = (object) => (object?.html ? rich(object.html) : h("span", { class: "rich" }, object?.text ?? ""));

const BLOCKS = {
  section: (block, place) => [
    block.text || block.accessory
      ? h("div", { class: "section" }, block.text ? textOf(block.text) : null, block.accessory ? renderElement(block.accessory, block, place) : null)
      : null,
    block.fields ? h("div", { class: "fields" }, block.fields.map(textOf)) : null,
  ],
  header: (block) => h("h3", { class: "block-header" }, block.text.text),
  markdown: (block, place) => rich(block.html, "div", place.live ? "live" : ""),
  rich_text: (block) => rich(block.html),
  table: (block) => rich(block.html),
  data_table: (block, place) => dataTable(block, place),
  divider: () => h("hr"),
  context: (block) => h("div", { class: "context" }, block.elements.map((element) => (element.type === "image" ? picture(element, true) : textOf(element)))),
  image: (block) => picture(block, false),
  actions: (block, place) => h("div", { class: "actions" }, block.elements.map((element) => renderElement(element, block, place))),
  context_actions: (block, place) => h("div", { class: "actions" }, block.elements.map((element) => renderElement(element, block, place))),
  input: (block, place) => renderInput(block, place),
  task_card: (block) => task(block, "div"),
  plan: renderPlan,
};

// Its title, and the steps, which a press hides and shows.
function renderPlan(block) {
  const open = !closedPlans.has(block.block_id);
  const details = h("details", { class: "plan", open },
    h("summary", {}, icon("fold"), h("b", {}, block.title)),
    h("ol", {}, (block.tasks ?? []).map((card) => task(card, "li"))));
  details.addEventListener("toggle", () => (details.open ? closedPlans.delete(block.block_id) : closedPlans.add(block.block_id)));
  return details;
}

const closedPlans = new Set();
const STATES = { pending: "to come", in_progress: "under way", complete: "done", error: "failed" };

function task(card, tag) {
  const status = card.status ?? "complete";
  const more = [card.details, card.output].filter((one) => one?.html).map((one) => rich(one.html, "div", "quiet"));
  const sources = card.sources?.length ? h("div", { class: "sources" }, card.sources.map((one) => rich(one.html, "span"))) : null;
  return h(tag, { class: `task ${status}` }, h("span", { class: "mark", role: "img", "aria-label": STATES[status] }), h("div", { class: "what" }, h("span", {}, card.title), more, sources));
}

// The page loads nothing from outside: a picture from elsewhere is offered as a link.
function picture(block, small) {
  const url = block.image_url ?? "";
  if (url.startsWith("data:image/") || url.startsWith(location.origin)) {
    return h("figure", { class: small ? "" : "picture" }, h("img", { src: url, alt: block.alt_text, ...(small ? { width: "20", height: "20" } : {}) }));
  }
  if (small || !/^https?:/.test(url)) return h("span", { class: "quiet" }, block.alt_text);
  return h("figure", { class: "picture" }, h("a", { class: "elsewhere", href: url, target: "_blank", rel: "noopener noreferrer" }, icon("eye"), block.title?.text ?? block.alt_text));
}

// Elements

const ELEMENTS = {
  button: renderButton,
  workflow_button: renderButton,
  icon_button: (element, block, place) => {
    const only = element.visible_to_user_ids;
    if (only && !only.includes(state.user)) return null;
    const button = iconButton("trash", element.accessibility_label ?? element.text.text, () => press(button, element, place, {}));
    return button;
  },
  feedback_buttons: renderFeedback,
  overflow: (element, block, place) => menu("More choices", "more", () => element.options.map((option) => ({
    label: option.text.text,
    run: () => press(null, element, place, { option: option.value }),
  }))),
  image: (element) => picture(element, true),
};

export function renderElement(element, block, place) {
  const build = ELEMENTS[element.type];
  if (build) return build(element, block, place);
  const control = renderControl(element, block, place);
  if (!control) return null;
  control.addEventListener("change", () => press(null, element, place, choiceOf(control.readValue())));
  return control;
}

function choiceOf(value) {
  if (value.selected_option !== undefined) return { option: value.selected_option?.value };
  if (value.selected_options) return { options: value.selected_options.map((option) => option.value) };
  const { type, ...rest } = value;
  return rest;
}

async function press(button, element, place, chosen) {
  if (element.confirm && !(await confirmFirst(element.confirm, textOf(element.confirm.text ?? {})))) return;
  button?.classList.add("busy");
  const scope = place.scope?.() ?? document.createElement("div");
  const values = collect(scope);
  if (place.view) await act("click_in_view", { action_id: element.action_id, chosen, state: values });
  else await act("click", { channel: place.channel, ts: place.ts, action_id: element.action_id, chosen, state: values });
  button?.classList.remove("busy");
}

function renderButton(element, block, place) {
  const style = `button ${element.style ?? ""}`;
  const common = { "aria-label": element.accessibility_label, dataset: { focus: element.action_id ?? "" } };
  if (element.url && /^https?:/.test(element.url)) {
    return h("a", { class: style, href: element.url, target: "_blank", rel: "noopener noreferrer", onclick: () => press(null, element, place, {}), ...common }, element.text.text);
  }
  const button = h("button", { type: "button", class: style, onclick: () => press(button, element, place, {}), ...common }, element.text.text);
  return button;
}

function renderFeedback(element, block, place) {
  const key = `${place.ts} ${element.action_id}`;
  const one = (choice, name) => {
    const button = h("button", {
      type: "button",
      "aria-label": choice.accessibility_label,
      "aria-pressed": String(state.pressed.get(key) === choice.value),
      dataset: { focus: `${element.action_id} ${name}` },
      onclick: async () => {
        state.pressed.set(key, choice.value);
        for (const other of button.parentElement.children) other.setAttribute("aria-pressed", String(other === button));
        await press(button, element, place, { value: choice.value });
      },
    }, icon(name), choice.text.text);
    return button;
  };
  return h("div", { class: "feedback", role: "group", "aria-label": "Was this helpful?" }, one(element.positive_button, "up_thumb"), one(element.negative_button, "down_thumb"));
}

// Controls that hold a value: `readValue` gives it as Slack's `state.values` has it.

const NATIVE = { plain_text_input: "text", email_text_input: "email", url_text_input: "url", number_input: "number", datepicker: "date", timepicker: "time" };
const FIELD = { datepicker: "selected_date", timepicker: "selected_time" };

function renderControl(element, block, place, id) {
  const kept = place.kept?.[block.block_id]?.[element.action_id];
  const many = element.type.startsWith("multi_");
  const control = element.type in NATIVE
    ? typedControl(element, kept, id)
    : element.type === "radio_buttons" || element.type === "checkboxes"
      ? choiceControl(element, kept, block)
      : element.type.endsWith("_select")
        ? selectControl(element, kept, many, id)
        : null;
  if (control) Object.assign(control.dataset, { block: block.block_id, action: element.action_id });
  return control;
}

function typedControl(element, kept, id) {
  const field = FIELD[element.type] ?? "value";
  const start = kept?.[field] ?? element.initial_value ?? element.initial_date ?? element.initial_time ?? "";
  const props = { class: "input", id, placeholder: element.placeholder?.text, maxlength: element.max_length, autofocus: element.focus_on_load };
  const control = element.multiline
    ? h("textarea", { ...props, rows: 4 })
    : h("input", { ...props, type: NATIVE[element.type], min: element.min_value, max: element.max_value });
  control.value = start;
  control.readValue = () => ({ type: element.type, [field]: control.value === "" ? null : control.value });
  return control;
}

function choiceControl(element, kept, block) {
  const single = element.type === "radio_buttons";
  const start = kept
    ? [kept.selected_option, ...(kept.selected_options ?? [])]
    : [element.initial_option, ...(element.initial_options ?? [])];
  const chosen = new Set(start.filter(Boolean).map((option) => option.value));
  const group = h("div", { class: "options", role: single ? "radiogroup" : "group" }, element.options.map((option) => h("label", { class: "option" },
    h("input", { type: single ? "radio" : "checkbox", name: `${block.block_id} ${element.action_id}`, value: option.value, checked: chosen.has(option.value) }),
    h("span", {}, textOf(option.text), option.description ? h("small", {}, textOf(option.description)) : null))));
  group.readValue = () => {
    const values = [...group.querySelectorAll("input:checked")].map((input) => element.options.find((option) => option.value === input.value)).map(bare);
    return single ? { type: element.type, selected_option: values[0] ?? null } : { type: element.type, selected_options: values };
  };
  return group;
}

const LISTS = {
  users: () => [...state.people.values()].filter((one) => !one.bot).map((one) => ({ value: one.id, text: { text: one.name } })),
  conversations: () => channelOptions(),
  channels: () => channelOptions(),
};
const channelOptions = () => [...state.channels.values()].filter((channel) => channel.kind !== "im").map((channel) => ({ value: channel.id, text: { text: `#${channel.name}` } }));

function selectControl(element, kept, many, id) {
  const kind = element.type.replace("multi_", "").replace("_select", "");
  const groups = element.option_groups ?? [{ options: element.options ?? LISTS[kind]?.() ?? [] }];
  const options = groups.flatMap((group) => group.options);
  const listed = LISTS[kind] ? (many ? `selected_${kind}` : `selected_${kind.replace(/s$/, "")}`) : many ? "selected_options" : "selected_option";
  const start = kept?.[listed] ?? element.initial_option ?? element.initial_options ?? element.initial_user ?? [];
  const chosen = new Set([start].flat().filter(Boolean).map((one) => one.value ?? one));
  const choice = (option) => h("option", { value: option.value, selected: chosen.has(option.value) }, option.text.text);
  const control = h("select", { class: "input", id, multiple: many, "aria-label": id ? undefined : element.placeholder?.text ?? "Choose" },
    many ? null : h("option", { value: "", disabled: true, selected: chosen.size === 0 }, element.placeholder?.text ?? "Choose one"),
    groups.map((group) => (group.label ? h("optgroup", { label: group.label.text }, group.options.map(choice)) : group.options.map(choice))));
  control.readValue = () => {
    const values = [...control.selectedOptions].filter((option) => option.value).map((option) => options.find((one) => one.value === option.value));
    const found = LISTS[kind] ? values.map((one) => one.value) : values.map(bare);
    return { type: element.type, [listed]: many ? found : found[0] ?? null };
  };
  return control;
}

const bare = ({ text, value, description }) => ({ text: { type: text.type ?? "plain_text", text: text.text, ...(text.type === "mrkdwn" ? {} : { emoji: true }) }, value, ...(description ? { description } : {}) });

function renderInput(block, place) {
  const id = `field-${block.block_id}`;
  const control = renderControl(block.element, block, place, id) ?? h("p", { class: "quiet" }, "This kind of field is not shown here.");
  const label = [block.label.text, block.optional ? h("span", { class: "optional" }, " (optional)") : null];
  const grouped = control.matches(".options");
  if (block.dispatch_action) control.addEventListener("change", () => press(null, block.element, place, choiceOf(control.readValue())));
  return h(grouped ? "fieldset" : "div", { class: "field", dataset: { input: block.block_id, ...(block.optional ? { optional: "yes" } : {}) } },
    grouped ? h("legend", {}, label) : h("label", { for: id }, label),
    control,
    block.hint ? h("p", { class: "hint" }, block.hint.text) : null);
}

export function collect(scope) {
  const values = {};
  for (const control of scope.querySelectorAll("[data-action]")) {
    if (control.readValue) (values[control.dataset.block] ??= {})[control.dataset.action] = control.readValue();
  }
  return values;
}

export const nameOf = (id) => person(id)?.name ?? id;
