/** Runs that were started or are watched from here: their program, their events, their end. */
import * as vscode from "vscode";
import type { GraphPanel } from "../graph/panel.ts";
import { workflowAt } from "../graph/model.ts";
import type { Language } from "../language.ts";
import * as commands from "../program/commandline.ts";
import type { Allowance, Place } from "../program/commandline.ts";
import type { Stream } from "../program/process.ts";
import { allowanceOf, placeOf, Refused, say, type Desk } from "./desk.ts";
import { ENDS, parseEvent, Progress } from "./events.ts";
import { askInputs } from "./form.ts";
import { missingSecrets, type Needs } from "./inputs.ts";
import type { Questions } from "./questions.ts";

interface Status {
  workflow: string;
  status: string;
  outputs: unknown;
  error: { code: string; message: string; path?: string } | null;
  retryable: boolean;
}

/** A run that is followed; `working` is the program that works on it, where that was started here. */
interface Followed {
  progress: Progress;
  following: Stream;
  working: Stream | undefined;
}

/** Milliseconds between two pictures of a run. */
const PAUSE = 60;

/** Blocks that act only where somebody allowed them by name. */
const GUARDED = ["shell", "python"];

export class Sessions implements vscode.Disposable {
  readonly #followed = new Map<string, Followed>();
  /** Secrets that were typed in, for as long as this window is open: a run may have to be resumed. */
  readonly #secrets = new Map<string, Record<string, string>>();
  readonly #changed = new vscode.EventEmitter<void>();
  readonly onDidChange = this.#changed.event;

  constructor(
    private readonly desk: Desk,
    private readonly language: Language,
    private readonly graph: GraphPanel,
    private readonly questions: Questions,
    private readonly output: vscode.OutputChannel,
    private readonly extension: vscode.Uri,
  ) {}

  dispose(): void {
    for (const { following, working } of this.#followed.values()) for (const one of [following, working]) one?.stop();
    this.#changed.dispose();
  }

  /** Starts a run of a workflow of this document; without a name of the one at the line. */
  async start(document: vscode.TextDocument, name?: string, line = 0): Promise<void> {
    try {
      await this.#start(document, name, line);
    } catch (error) {
      say(error);
    }
  }

  async #start(document: vscode.TextDocument, name: string | undefined, line: number): Promise<void> {
    if (!this.desk.ready) throw new Refused(vscode.workspace.isTrusted ? "The program interlock was not found." : "Nothing is executed until you trust this workspace.");
    if (document.isUntitled) throw new Refused("Save the workflow first: a run is made from the file.");
    if (document.isDirty && !(await document.save())) throw new Refused("The file could not be saved.");
    const rows = (await this.language.workflows(document.uri)) ?? [];
    const workflow = name === undefined ? workflowAt(rows, line) : rows.find((row) => row.name === name);
    if (workflow === undefined) throw new Refused("There is no workflow in this file that could be run.");
    const place = placeOf(document.uri);
    if (place === undefined) throw new Refused("Workflows can be run from files on this machine only.");
    const allowance = await allowed(workflow, allowanceOf(place));
    if (allowance === undefined) return;
    const given = await askInputs(workflow, this.extension);
    if (given === undefined) return;
    const dispatched = commands.dispatch(place, document.uri.fsPath, workflow.name, given.inputs, allowance);
    const ended = await this.desk.perform(place, dispatched);
    if (ended.code !== 0) {
      this.output.appendLine(ended.stderr);
      this.output.show(true);
      throw new Refused(`"${workflow.name}" was refused: ${ended.stderr.trim().split("\n").at(-1) ?? ""}`);
    }
    const { run } = JSON.parse(ended.stdout) as { run: string };
    this.#secrets.set(run, given.secrets);
    await this.graph.show(document, workflow.name);
    await this.#drive(place, run, workflow, allowance);
  }

  /** Goes on with a stored run: after a retry, or where its program has ended. */
  async resume(place: Place, run: string, workflow: Needs | undefined): Promise<void> {
    if (this.driven(run)) return say(`The run ${run} goes on already.`);
    const wanted: Needs = workflow ?? { name: run, inputs: [], secrets: [], blocks: [] };
    const allowance = await allowed(wanted, allowanceOf(place));
    if (allowance === undefined) return;
    if (missingSecrets(wanted, { ...process.env, ...this.#secrets.get(run) }).length > 0) {
      const given = await askInputs({ ...wanted, inputs: [] }, this.extension);
      if (given === undefined) return;
      this.#secrets.set(run, given.secrets);
    }
    await this.#drive(place, run, wanted, allowance);
  }

  /** Whether a program that was started here works on the run. */
  driven(run: string): boolean {
    return this.#followed.get(run)?.working !== undefined;
  }

  /** Follows a run and shows it on the graph, without working on it. */
  watch(place: Place, run: string): void {
    const known = this.#followed.get(run);
    if (known !== undefined) return this.graph.choose(known.progress);
    const watched = this.#follow(place, run, false);
    this.#followed.set(run, watched);
    void watched.following.ended.then(() => {
      if (this.#followed.get(run) === watched) this.#followed.delete(run);
    });
  }

  async #drive(place: Place, run: string, workflow: Needs, allowance: Allowance): Promise<void> {
    this.#followed.get(run)?.following.stop();
    const line = (text: string): void => this.output.appendLine(text);
    line(`── ${workflow.name}, run ${run}`);
    this.output.show(true);
    const command = commands.resume(place, run, workflow.secrets, allowance);
    const working = this.desk.stream(place, command, line, line, this.#secrets.get(run));
    const followed = this.#follow(place, run, true);
    this.#followed.set(run, { ...followed, working });
    this.#changed.fire();
    const code = await working.ended;
    // What happened last may be on its way still.
    await Promise.race([followed.following.ended, new Promise((resolve) => setTimeout(resolve, 3000))]);
    followed.following.stop();
    this.#followed.delete(run);
    this.#changed.fire();
    await this.#end(place, run, code);
  }

  /** Follows a run from its first event on: what comes close together is shown, and asked about, once. */
  #follow(place: Place, run: string, asking: boolean): Followed {
    const progress = new Progress();
    const put = new Set<string>();
    let timer: NodeJS.Timeout | undefined;
    const show = (): void => {
      clearTimeout(timer);
      timer = undefined;
      this.graph.progress(progress);
      for (const step of asking ? progress.questions : []) {
        const key = `${step.path} ${step.visit} ${step.state}`;
        if (put.has(key)) continue;
        put.add(key);
        void this.questions.put({ place, run, workflow: progress.workflow }, step, () => progress.questions.includes(step));
      }
    };
    const following = this.desk.stream(place, commands.followRun(place, run), (line) => {
      const event = parseEvent(line);
      if (event === undefined || !progress.apply(event)) return;
      if (event.kind === "run.dispatched") this.graph.choose(progress); // which workflow it is of is known by now
      timer ??= setTimeout(show, PAUSE);
    });
    void following.ended.then(show);
    return { progress, following, working: undefined };
  }

  async #end(place: Place, run: string, code: number | undefined): Promise<void> {
    let status: Status | undefined;
    try {
      status = await this.desk.read<Status>(place, commands.status(place, run));
    } catch (error) {
      return say(error);
    }
    if (status === undefined) return;
    if (!status.retryable && ENDS.includes(status.status)) this.#secrets.delete(run);
    const show = (answer: string | undefined): void => void (answer !== undefined && this.output.show(true));
    if (status.status === "completed") {
      const outputs = JSON.stringify(status.outputs);
      const short = outputs.length > 120 ? `${outputs.slice(0, 119)}…` : outputs;
      show(await vscode.window.showInformationMessage(`${status.workflow} completed: ${short}`, "Show Output"));
    } else if (status.error !== null) {
      const where = status.error.path === undefined ? "" : ` at ${status.error.path}`;
      show(await vscode.window.showErrorMessage(`${status.workflow} ${status.status}${where}: ${status.error.message} (${status.error.code})`, "Show Output"));
    } else if (["cancelled", "superseded"].includes(status.status)) {
      show(await vscode.window.showWarningMessage(`${status.workflow} was ${status.status}.`, "Show Output"));
    } else if (code !== 0) {
      show(await vscode.window.showWarningMessage(`${status.workflow} has not ended: it can go on from the Interlock view.`, "Show Output"));
    }
  }
}

/** What may act in a run, after asking for what the settings do not allow; undefined where it may not. */
async function allowed(workflow: Needs, set: Allowance): Promise<Allowance | undefined> {
  const asked = GUARDED.filter((name) => workflow.blocks.includes(name) && !set.allow.includes(name));
  if (asked.length === 0) return set;
  const words = asked.map((name) => `"${name}"`).join(" and ");
  const answer = await vscode.window.showWarningMessage(
    `"${workflow.name}" uses the block ${words}, which runs programs on this machine as you.`,
    { modal: true, detail: "It is allowed for this run only. The setting interlock.run.allow allows it always." },
    "Allow Once",
  );
  return answer === undefined ? undefined : { ...set, allow: [...set.allow, ...asked] };
}
