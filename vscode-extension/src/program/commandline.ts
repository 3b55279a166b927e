/**
 * The argument lists of the command line. Pure. Every value is one argument of its own or stands behind an
 * `=`, so that none can be taken for an option; values that nobody else may see go by standard input.
 */

export interface Place {
  /** The folder that relative paths of the store count from. */
  cwd: string;
  store: string;
  account: string;
}

export interface Allowance {
  blocks: readonly string[];
  allow: readonly string[];
}

export type Decision = "committed" | "not-committed" | "abandon";

/** A command with what goes to its standard input. */
export interface Command {
  args: string[];
  input?: string;
}

const allowed = (given: Allowance): string[] => [
  ...given.allow.map((name) => `--allow=${name}`),
  ...given.blocks.map((module) => `--blocks=${module}`),
];

const store = (place: Place): string => `--store=${place.store}`;

const json = (value: unknown): Pick<Command, "input"> => ({ input: JSON.stringify(value) });

export function dispatch(
  place: Place, file: string, workflow: string, inputs: Record<string, unknown>, given: Allowance,
): Command {
  const args = ["dispatch", file, `--workflow=${workflow}`, "--inputs=-", "--json"];
  return { args: [...args, store(place), `--account=${place.account}`, ...allowed(given)], ...json(inputs) };
}

/** Works on a stored run until it ends. Secrets are named only: their values stand in the environment. */
export function resume(place: Place, run: string, secrets: readonly string[], given: Allowance): Command {
  const named = secrets.map((name) => `--secret=${name}`);
  return { args: ["run", `--resume=${run}`, store(place), `--account=${place.account}`, ...named, ...allowed(given)] };
}

export function followRun(place: Place, run: string): Command {
  return { args: ["events", run, "--follow", "--json", store(place)] };
}

export function followAll(place: Place, after: number): Command {
  return { args: ["events", "--follow", "--json", `--after=${after}`, store(place)] };
}

export function events(place: Place, run: string): Command {
  return { args: ["events", run, "--json", store(place)] };
}

export function status(place: Place, run: string): Command {
  return { args: ["status", run, "--json", store(place)] };
}

export function runs(place: Place, limit: number): Command {
  return { args: ["runs", "--json", `--limit=${limit}`, `--account=${place.account}`, store(place)] };
}

export function leases(place: Place): Command {
  return { args: ["leases", "--json", `--account=${place.account}`, store(place)] };
}

export function queue(place: Place): Command {
  return { args: ["queue", "--json", `--account=${place.account}`, store(place)] };
}

export function approve(place: Place, run: string, data: unknown): Command {
  return { args: ["approve", run, "--data=@-", store(place)], ...json(data) };
}

export function reject(place: Place, run: string, data: unknown): Command {
  return { args: ["reject", run, "--data=@-", store(place)], ...json(data) };
}

export function signal(place: Place, run: string, name: string, data: unknown): Command {
  return { args: ["signal", run, name, "--data=@-", store(place)], ...json(data) };
}

export function cancel(place: Place, run: string): Command {
  return { args: ["cancel", run, store(place)] };
}

export function retry(place: Place, run: string): Command {
  return { args: ["retry", run, store(place)] };
}

export function review(
  place: Place, run: string, decision: Decision, path: string | undefined, result: unknown,
): Command {
  const args = ["review", run, decision, store(place)];
  if (path !== undefined) args.push(`--path=${path}`);
  if (decision !== "committed" || result === undefined) return { args };
  return { args: [...args, "--result=@-"], ...json(result) };
}
