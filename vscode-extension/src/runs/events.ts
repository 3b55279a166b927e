/** The events of runs: reading them as JSON lines, and what they say of each step. Pure. */

export interface Event {
  seq: number;
  run: string;
  at: number;
  kind: string;
  path: string | null;
  visit: number | null;
  data: Record<string, unknown>;
}

/** Cuts what arrives in pieces into lines. */
export class Lines {
  #rest = "";

  constructor(private readonly give: (line: string) => void) {}

  push(text: string): void {
    const parts = (this.#rest + text).split("\n");
    this.#rest = parts.pop() ?? "";
    for (const part of parts) this.give(part.endsWith("\r") ? part.slice(0, -1) : part);
  }

  end(): void {
    if (this.#rest !== "") this.give(this.#rest);
    this.#rest = "";
  }
}

/** One line as an event; undefined for anything else. */
export function parseEvent(line: string): Event | undefined {
  let found: unknown;
  try {
    found = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (typeof found !== "object" || found === null) return undefined;
  const { seq, run, at, kind, path, visit, data } = found as Record<string, unknown>;
  if (typeof seq !== "number" || typeof run !== "string" || typeof kind !== "string") return undefined;
  return {
    seq, run, kind,
    at: typeof at === "number" ? at : 0,
    path: typeof path === "string" ? path : null,
    visit: typeof visit === "number" ? visit : null,
    data: typeof data === "object" && data !== null ? (data as Record<string, unknown>) : {},
  };
}

export function parseEvents(text: string): Event[] {
  return text.split("\n").map(parseEvent).filter((one) => one !== undefined);
}

export type StepState = "running" | "waiting" | "settled" | "skipped" | "failed" | "stopped" | "review";

/** What a person is asked by a step that waits. */
export type Asks =
  | { kind: "decision" | "approval" }
  | { kind: "signal"; names: string[] }
  | { kind: "review"; reason: string };

export interface StepProgress {
  path: string;
  visit: number;
  state: StepState;
  detail: string;
  asks?: Asks;
}

export const ENDS = ["completed", "failed", "cancelled", "superseded"];

const STATES: Record<string, StepState> = {
  "step.entered": "running",
  "step.started": "running",
  "step.attempt_failed": "running",
  "step.retry_scheduled": "waiting",
  "step.completed": "settled",
  "step.failed": "failed",
  "step.skipped": "skipped",
  "step.stopped": "stopped",
  "lease.queued": "waiting",
  "lease.blocked_by_review": "waiting",
  "lease.granted": "running",
  "lease.reentered": "running",
  "wait.opened": "waiting",
  "review.opened": "review",
  "review.settled": "running",
};

/** What is known of one run from its events, taken in their order. */
export class Progress {
  readonly steps = new Map<string, StepProgress>();
  workflow = "";
  /** queued, running, or how it ended. */
  status = "queued";
  error = "";
  seen = 0;

  get over(): boolean {
    return ENDS.includes(this.status);
  }

  /** The steps that wait for a person. */
  get questions(): StepProgress[] {
    return this.over ? [] : [...this.steps.values()].filter((one) => one.asks !== undefined);
  }

  /** Takes an event in; whether it was new. */
  apply(event: Event): boolean {
    if (event.seq <= this.seen) return false;
    this.seen = event.seq;
    if (event.kind.startsWith("run.")) this.#run(event);
    const state = STATES[event.kind];
    if (state === undefined || event.path === null) return true;
    const step: StepProgress = {
      path: event.path, visit: event.visit ?? 1, state, detail: detail(event),
    };
    const asks = asked(event);
    if (asks !== undefined) step.asks = asks;
    this.steps.delete(event.path); // what happened last stands last
    this.steps.set(event.path, step);
    if (event.kind === "review.settled") this.#settled(step, text(event.data["decision"]));
    return true;
  }

  /** What a person has said of a protected section replaces what had been seen of the steps inside. */
  #settled(section: StepProgress, decision: string): void {
    if (decision === "abandon") Object.assign(section, { state: "failed", detail: "the review was abandoned" });
    for (const step of this.steps.values()) {
      if (!step.path.startsWith(`${section.path}/`)) continue;
      if (decision === "not-committed") this.steps.delete(step.path); // they run again
      if (decision === "committed" && step.state !== "skipped") Object.assign(step, { state: "settled", detail: "committed, as a person said" });
    }
  }

  #run(event: Event): void {
    const word = event.kind.slice("run.".length);
    if (word === "dispatched") this.workflow = text(event.data["workflow"]);
    if (word === "queued" || word === "retried") this.status = "queued";
    if (word === "admitted") this.status = "running";
    if (ENDS.includes(word)) this.status = word;
    if (word === "failed") this.error = text(event.data["message"]);
  }
}

function text(value: unknown): string {
  return typeof value === "string" ? value : value === undefined || value === null ? "" : JSON.stringify(value);
}

function detail(event: Event): string {
  const { data } = event;
  switch (event.kind) {
    case "step.failed":
    case "step.attempt_failed":
    case "review.opened":
      return text(data["message"]) || text(data["code"]);
    case "lease.queued":
    case "lease.blocked_by_review":
      return `waits for the key "${text(data["key"])}"`;
    case "step.retry_scheduled":
      return "will be tried again";
    case "wait.opened":
      return Array.isArray(data["names"]) ? `waits for ${data["names"].map(text).join(", ")}` : "waits";
    default:
      return "";
  }
}

function asked(event: Event): Asks | undefined {
  if (event.kind === "review.opened") return { kind: "review", reason: detail(event) };
  const names = event.data["names"];
  if (event.kind !== "wait.opened" || !Array.isArray(names)) return undefined;
  return asksOf(names.map(text));
}

/** What a wait for these signals asks of a person. */
export function asksOf(names: string[]): Asks | undefined {
  if (names.includes("approved") && names.includes("rejected")) return { kind: "decision" };
  if (names.length === 1 && names[0] === "approval") return { kind: "approval" };
  return names.length > 0 ? { kind: "signal", names } : undefined;
}

/** A step path of a run as one of the definition: without the positions of items. */
export function definitionPath(path: string): string {
  return path.split("/").filter((part) => !/^\d+$/.test(part)).join("/");
}

export interface Painted {
  state: StepState;
  /** What stands beside the step, such as `2 of 4`. */
  text: string;
  title: string;
}

const ORDER: StepState[] = ["review", "failed", "waiting", "running", "stopped", "settled", "skipped"];

/** The state of each step of the definition: of several items the one that matters most, with a count. */
export function painted(progress: Progress): Record<string, Painted> {
  const groups = new Map<string, StepProgress[]>();
  for (const step of progress.steps.values()) {
    const path = definitionPath(step.path);
    groups.set(path, [...(groups.get(path) ?? []), step]);
  }
  const found: Record<string, Painted> = {};
  for (const [path, steps] of groups) {
    const state = ORDER.find((one) => steps.some((step) => step.state === one)) ?? "running";
    const done = steps.filter((step) => step.state === "settled").length;
    const first = steps.find((step) => step.state === state);
    const visits = Math.max(...steps.map((step) => step.visit));
    const parts = [
      ...(steps.length > 1 ? [`${done} of ${steps.length}`] : []),
      ...(visits > 1 ? [`visit ${visits}`] : []),
    ];
    found[path] = { state, text: parts.join(" · "), title: [state, first?.detail].filter(Boolean).join(": ") };
  }
  return found;
}
