/** What a workflow has to be given before it runs, and how answers of a form become values. Pure. */
import type { Range } from "../graph/model.ts";

export interface InputRow {
  name: string;
  type: string;
  secret: boolean;
  required: boolean;
  default?: unknown;
  enum?: unknown[];
}

/** What a workflow has to be given, and the blocks that act in it and in all that it can start. */
export interface Needs {
  name: string;
  inputs: InputRow[];
  secrets: string[];
  blocks: string[];
}

/** One workflow of a file, as the server describes it. */
export interface WorkflowRow extends Needs {
  /** Where its name stands, and the YAML document that it is. */
  range: Range;
  document: Range;
}

/** How a field of the form looks. */
export interface Field {
  name: string;
  label: string;
  note: string;
  control: "text" | "number" | "boolean" | "choice" | "json" | "password";
  required: boolean;
  /** The text that stands in it at first; for a choice one of `choices`. */
  start: string;
  choices: string[];
  /** A secret of the host, not an input. */
  host: boolean;
}

const UNGIVEN = "";

/** The fields of the form; a host's secret that the environment has is not asked for. */
export function fieldsOf(workflow: Needs, environment: Readonly<Record<string, string | undefined>>): Field[] {
  const inputs = workflow.inputs.map(inputField);
  const secrets = missingSecrets(workflow, environment).map((name): Field => ({
    name, label: name, note: "secret; it is handed to this run and written down nowhere", control: "password",
    required: true, start: "", choices: [], host: true,
  }));
  return [...inputs, ...secrets];
}

export function missingSecrets(workflow: Needs, environment: Readonly<Record<string, string | undefined>>): string[] {
  return workflow.secrets.filter((name) => environment[name] === undefined);
}

function inputField(input: InputRow): Field {
  const choices = input.enum?.map((value) => written(value, input.type)) ?? [];
  if (choices.length > 0 && !input.required && input.default === undefined) choices.unshift(UNGIVEN);
  return {
    name: input.name,
    label: input.name,
    note: noteOf(input),
    control: controlOf(input, choices),
    required: input.required,
    start: input.default === undefined ? "" : written(input.default, input.type),
    choices: controlOf(input, choices) === "boolean" ? [] : choices,
    host: false,
  };
}

function controlOf(input: InputRow, choices: string[]): Field["control"] {
  if (input.secret) return "password";
  if (choices.length > 0) return "choice";
  if (input.type === "boolean" && (input.required || input.default !== undefined)) return "boolean";
  if (input.type === "integer" || input.type === "number") return "number";
  return input.type === "array" || input.type === "object" ? "json" : "text";
}

function noteOf(input: InputRow): string {
  const words = [input.type];
  if (input.type === "array") words[0] = "array, as JSON";
  if (input.type === "object") words[0] = "object, as JSON";
  if (input.type === "any") words[0] = "JSON, or plain text";
  if (input.secret) words.push("secret");
  if (!input.required && input.default === undefined) words.push("may be left empty");
  return words.join(", ");
}

/** A value as the text of its field. */
export function written(value: unknown, type: string): string {
  if (typeof value === "string" && (type === "string" || !isJson(value))) return value;
  return JSON.stringify(value);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

export type Read = { value: unknown } | { left: true } | { problem: string };

/** What a person wrote, as a value of the input's type; `left` where it stays at its default. */
export function read(input: InputRow, text: string): Read {
  const empties = input.type === "string" && (input.required || input.default !== undefined); // "" is a string, too
  if (text === "" && !empties) return input.required ? { problem: `"${input.name}" has to be given.` } : { left: true };
  if (input.type === "string") return { value: text };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    if (input.type === "any") return { value: text };
    return { problem: `"${input.name}" takes ${TAKES[input.type] ?? input.type}, and "${text}" is none.` };
  }
  if (input.type !== "any" && !fits(value, input.type))
    return { problem: `"${input.name}" takes ${TAKES[input.type] ?? input.type}.` };
  return { value };
}

const TAKES: Record<string, string> = {
  integer: "a whole number", number: "a number", boolean: "one of true and false", array: "a JSON list", object: "a JSON object",
};

function fits(value: unknown, type: string): boolean {
  switch (type) {
    case "integer":
      return Number.isInteger(value);
    case "array":
      return Array.isArray(value);
    case "object":
      return typeof value === "object" && value !== null && !Array.isArray(value);
    default:
      return typeof value === type;
  }
}

export interface Given {
  inputs: Record<string, unknown>;
  secrets: Record<string, string>;
}

/** All answers of the form as inputs and secrets, or what is wrong by the field's name. */
export function gather(
  workflow: Needs, answers: Record<string, string>, hostAnswers: Record<string, string>,
): Given | { problems: Record<string, string> } {
  const inputs: Record<string, unknown> = {};
  const problems: Record<string, string> = {};
  for (const input of workflow.inputs) {
    const found = read(input, answers[input.name] ?? "");
    if ("problem" in found) problems[input.name] = found.problem;
    else if ("value" in found) inputs[input.name] = found.value;
  }
  for (const [name, text] of Object.entries(hostAnswers))
    if (text === "") problems[`secret:${name}`] = `"${name}" has to be given.`;
  return Object.keys(problems).length > 0 ? { problems } : { inputs, secrets: { ...hostAnswers } };
}
