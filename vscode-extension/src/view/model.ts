/** What the Interlock view shows, made from what the command line tells. Pure. */
import { asksOf, type Asks, type StepProgress, type StepState } from "../runs/events.ts";

export interface RunRow {
  run: string;
  workflow: string;
  status: string;
  dispatched_at: number;
  ended_at: number | null;
  error: string | null;
}

export interface LeaseRow {
  key: string;
  limit: number | null;
  holders: { run: string; fence: number; since: number; lifetime: string; review: boolean }[];
  waiters: { run: string; path: string; ticket: number; since: number }[];
}

export interface QueueRow {
  workflow: string;
  active: string[];
  waiting: string[];
}

export interface PositionRow {
  path: string;
  visit: number;
  status: string;
  waits_on: string | null;
  /** The names of the signals that it waits for. */
  waits_for: string[];
}

/** One line of the tree. `icon` is a codicon with the name of its colour. */
export interface Item {
  id: string;
  label: string;
  description: string;
  tooltip: string;
  icon: string;
  colour?: string;
  /** What menus look at. */
  context: string;
  run?: string;
  workflow?: string;
  /** Of a step that waits. */
  path?: string;
  signals?: string[];
  children?: Item[];
  /** A run, whose steps are read when it is opened. */
  lazy?: boolean;
  expanded?: boolean;
}

interface Group {
  id: string;
  label: string;
  icon: string;
  colour?: string;
  statuses: string[];
  expanded?: boolean;
}

const GROUPS: Group[] = [
  { id: "review", label: "Held for Review", icon: "law", colour: "charts.orange", statuses: ["held_for_review"], expanded: true },
  { id: "running", label: "Running", icon: "play-circle", colour: "charts.blue", statuses: ["running"], expanded: true },
  {
    id: "waiting", label: "Waiting", icon: "watch", colour: "charts.yellow", expanded: true,
    statuses: ["waiting_for_signal", "waiting_for_resource", "waiting_for_workflows", "delayed"],
  },
  { id: "queued", label: "Queued", icon: "list-ordered", statuses: ["queued"], expanded: true },
  { id: "failed", label: "Failed", icon: "error", colour: "charts.red", statuses: ["failed"], expanded: true },
  { id: "completed", label: "Completed", icon: "pass", colour: "charts.green", statuses: ["completed"] },
  { id: "stopped", label: "Cancelled and Superseded", icon: "circle-slash", statuses: ["cancelled", "superseded"] },
];

const ENDED = ["completed", "failed", "cancelled", "superseded"];

/** Runs by their state, then leases, then queues; what is empty is left out. */
export function groups(
  runs: readonly RunRow[], leases: readonly LeaseRow[], queues: readonly QueueRow[],
  asks: ReadonlyMap<string, Asks[]>,
): Item[] {
  const found: Item[] = [];
  const names = new Map(runs.map((row) => [row.run, row.workflow]));
  for (const group of GROUPS) {
    const rows = runs.filter((row) => group.statuses.includes(row.status));
    if (rows.length === 0) continue;
    found.push(grouped(`group:${group.id}`, group.label, group.icon, group.colour, rows.map((row) => runItem(row, group, asks.get(row.run) ?? [])), group.expanded));
  }
  if (leases.length > 0) found.push(grouped("group:leases", "Leases", "lock", undefined, leases.map((row) => leaseItem(row, names)), true));
  const busy = queues.filter((row) => row.active.length + row.waiting.length > 0);
  if (busy.length > 0) found.push(grouped("group:queues", "Queues", "list-ordered", undefined, busy.map((row) => queueItem(row)), true));
  return found;
}

function grouped(id: string, label: string, icon: string, colour: string | undefined, children: Item[], expanded = false): Item {
  return {
    id, label, icon, description: String(children.length), tooltip: label, context: "group", children, expanded,
    ...(colour === undefined ? {} : { colour }),
  };
}

function runItem(row: RunRow, group: Group, asks: readonly Asks[]): Item {
  const words = row.status.replaceAll("_", " ");
  const time = row.ended_at === null ? `since ${moment(row.dispatched_at)}` : `${moment(row.dispatched_at)}, took ${span(row.ended_at - row.dispatched_at)}`;
  const state = ENDED.includes(row.status) ? row.status : "live";
  const signals = asks.flatMap((one) => (one.kind === "signal" ? one.names : []));
  return {
    id: `run:${row.run}`, label: row.workflow, lazy: true, run: row.run, workflow: row.workflow,
    description: [...(words === group.label.toLowerCase() ? [] : [words]), time, ...(row.error ? [row.error] : [])].join(" · "),
    tooltip: `${row.run}\n${words}, dispatched ${new Date(row.dispatched_at * 1000).toLocaleString()}${row.error ? `\n${row.error}` : ""}`,
    icon: group.icon, ...(group.colour === undefined ? {} : { colour: group.colour }),
    context: ["run", state, ...new Set(asks.map((one) => one.kind))].join(":"),
    signals,
  };
}

function leaseItem(row: LeaseRow, names: ReadonlyMap<string, string>): Item {
  const called = (run: string): string => names.get(run) ?? run;
  const review = row.holders.some((one) => one.review);
  return {
    id: `lease:${row.key}`, label: row.key, icon: review ? "law" : "lock", context: "lease", expanded: true,
    description: `${row.holders.length} of ${row.limit ?? "?"} held${row.waiters.length > 0 ? `, ${row.waiters.length} waiting` : ""}`,
    tooltip: row.key,
    children: [
      ...row.holders.map((one): Item => ({
        id: `holder:${row.key}:${one.run}`, label: called(one.run), icon: one.review ? "law" : "key", context: "copy:holder", run: one.run,
        description: `fence ${one.fence}, for the ${one.lifetime}, since ${moment(one.since)}${one.review ? ", in review" : ""}`,
        tooltip: one.run,
      })),
      ...row.waiters.map((one, place): Item => ({
        id: `ticket:${row.key}:${one.ticket}`, label: called(one.run), icon: "watch", context: "copy:ticket", run: one.run,
        description: `place ${place + 1}, ticket ${one.ticket}, ${one.path}, since ${moment(one.since)}`, tooltip: one.run,
      })),
    ],
  };
}

function queueItem(row: QueueRow): Item {
  return {
    id: `queue:${row.workflow}`, label: row.workflow, icon: "list-ordered", context: "queue", expanded: true,
    description: `${row.active.length} active, ${row.waiting.length} waiting`, tooltip: row.workflow,
    children: [
      ...row.active.map((run): Item => ({ id: `active:${row.workflow}:${run}`, label: run, icon: "play-circle", context: "copy:active", run, description: "active", tooltip: run })),
      ...row.waiting.map((run, place): Item => ({ id: `queued:${row.workflow}:${run}`, label: run, icon: "watch", context: "copy:queued", run, description: `place ${place + 1}`, tooltip: run })),
    ],
  };
}

const STEP_ICONS: Record<StepState, [string, string | undefined]> = {
  running: ["play-circle", "charts.blue"], waiting: ["watch", "charts.yellow"], settled: ["pass", "charts.green"],
  skipped: ["debug-step-over", undefined], failed: ["error", "charts.red"], stopped: ["circle-slash", undefined],
  review: ["law", "charts.orange"],
};

/** The steps of a run as far as it has come, in the order in which something last happened to them. */
export function stepItems(run: string, workflow: string, steps: readonly StepProgress[], positions: readonly PositionRow[]): Item[] {
  const standing = new Map(positions.map((one) => [one.path, one]));
  return steps.map((step): Item => {
    const [icon, colour] = STEP_ICONS[step.state];
    const position = standing.get(step.path);
    const waits = position?.waits_on ? `waits for ${position.waits_on}` : step.detail;
    const state = step.state === "review" ? "held for review" : step.state === "waiting" && waits ? "" : step.state;
    const asks = position === undefined && step.asks?.kind !== "review" ? undefined : step.asks;
    return {
      id: `step:${run}:${step.path}`, label: step.path, icon, ...(colour === undefined ? {} : { colour }), run, workflow, path: step.path,
      description: [state, step.visit > 1 ? `visit ${step.visit}` : "", waits].filter(Boolean).join(" · "),
      tooltip: waits || step.path, context: asks === undefined ? "step" : `step:${asks.kind}`,
      signals: asks?.kind === "signal" ? asks.names : [],
    };
  });
}

/** What a run's status says that it asks of a person. */
export function asksOfPositions(status: string, positions: readonly PositionRow[]): Asks[] {
  const found: Asks[] = status === "held_for_review" ? [{ kind: "review", reason: "" }] : [];
  for (const position of positions) {
    const asks = asksOf(position.waits_for);
    if (asks !== undefined) found.push(asks);
  }
  return found;
}

/** The file of a store inside of the folder that it counts from; undefined where it lies elsewhere. */
export function storeFile(store: string): string | undefined {
  const path = /^sqlite:\/\/\/([^?]+)/.exec(store)?.[1];
  return path === undefined || /^([/\\]|[A-Za-z]:)|(^|[/\\])\.\.([/\\]|$)/.test(path) ? undefined : path;
}

/** A moment as a person reads a clock. How long ago it was would have to be drawn again every second. */
export function moment(seconds: number): string {
  const [at, now] = [new Date(seconds * 1000), new Date()];
  const time = at.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  return at.toDateString() === now.toDateString() ? time : `${at.toLocaleDateString(undefined, { day: "numeric", month: "short" })} ${time}`;
}

/** A stretch of time in the words of the language. */
export function span(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole}s`;
  if (whole < 3600) return `${Math.floor(whole / 60)}m${whole % 60 > 0 ? `${whole % 60}s` : ""}`;
  if (whole < 172_800) return `${Math.floor(whole / 3600)}h${Math.floor((whole % 3600) / 60)}m`;
  return `${Math.floor(whole / 86_400)}d`;
}
