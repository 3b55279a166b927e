/** The page that asks for the inputs of a run. */
import type { Field } from "../src/runs/inputs.ts";

declare function acquireVsCodeApi(): { postMessage(message: unknown): void };

type Message = { type: "fields"; title: string; fields: Field[] } | { type: "problems"; problems: Record<string, string> };
type Control = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

const vscode = acquireVsCodeApi();
const form = document.querySelector("form") as HTMLFormElement;
const controls = new Map<string, { field: Field; control: Control; problem: HTMLElement }>();

const keyOf = (field: Field): string => (field.host ? `secret:${field.name}` : field.name);

function made<K extends keyof HTMLElementTagNameMap>(tag: K, attrs: Record<string, string> = {}, text = ""): HTMLElementTagNameMap[K] {
  const found = document.createElement(tag);
  for (const [name, value] of Object.entries(attrs)) found.setAttribute(name, value);
  found.textContent = text;
  return found;
}

function controlOf(field: Field, id: string): Control {
  switch (field.control) {
    case "choice": {
      const found = made("select", { id });
      for (const choice of field.choices) found.append(made("option", { value: choice }, choice === "" ? "(none)" : choice));
      found.value = field.start;
      return found;
    }
    case "boolean": {
      const found = made("input", { id, type: "checkbox" });
      found.checked = field.start === "true";
      return found;
    }
    case "json": {
      const found = made("textarea", { id, rows: "3", spellcheck: "false" });
      found.value = field.start;
      return found;
    }
    default: {
      const type = field.control === "password" ? "password" : "text";
      const mode = field.control === "number" ? { inputmode: "decimal" } : {};
      const found = made("input", { id, type, autocomplete: "off", spellcheck: "false", ...mode });
      found.value = field.start;
      return found;
    }
  }
}

function show(title: string, fields: Field[]): void {
  form.replaceChildren(made("h1", {}, title));
  fields.forEach((field, place) => {
    const id = `field-${place}`;
    const row = made("div", { class: `row ${field.control}` });
    const label = made("label", { for: id }, field.label);
    if (field.required) label.append(made("span", { class: "required", title: "has to be given" }, " *"));
    const control = controlOf(field, id);
    const note = made("small", { id: `${id}-note` }, field.note);
    const problem = made("p", { class: "problem", role: "alert", id: `${id}-problem` });
    control.setAttribute("aria-describedby", `${id}-note ${id}-problem`);
    control.dataset["name"] = keyOf(field);
    row.append(label, control, note, problem);
    form.append(row);
    controls.set(keyOf(field), { field, control, problem });
  });
  const buttons = made("div", { class: "buttons" });
  const cancel = made("button", { type: "button", class: "second" }, "Cancel");
  cancel.addEventListener("click", () => vscode.postMessage({ type: "cancel" }));
  buttons.append(made("button", { type: "submit", id: "run" }, "Run"), cancel);
  form.append(buttons);
  [...controls.values()][0]?.control.focus();
}

function valueOf(field: Field, control: Control): string {
  return field.control === "boolean" ? String((control as HTMLInputElement).checked) : control.value;
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const inputs: Record<string, string> = {};
  const secrets: Record<string, string> = {};
  for (const { field, control } of controls.values()) (field.host ? secrets : inputs)[field.name] = valueOf(field, control);
  vscode.postMessage({ type: "answers", inputs, secrets });
});

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") vscode.postMessage({ type: "cancel" });
});

window.addEventListener("message", ({ data }: MessageEvent<Message>) => {
  if (data.type === "fields") return show(data.title, data.fields);
  let first: Control | undefined;
  for (const [name, { control, problem }] of controls) {
    problem.textContent = data.problems[name] ?? "";
    control.setAttribute("aria-invalid", String(name in data.problems));
    if (name in data.problems) first ??= control;
  }
  first?.focus();
});

vscode.postMessage({ type: "ready" });
