/** What can be done with the lines of the view. */
import * as vscode from "vscode";
import { definition } from "../definitions.ts";
import type { Documents } from "../documents.ts";
import type { GraphPanel } from "../graph/panel.ts";
import type { Language } from "../language.ts";
import { goTo } from "../places.ts";
import * as commands from "../program/commandline.ts";
import { say, type Desk } from "../runs/desk.ts";
import type { WorkflowRow } from "../runs/inputs.ts";
import type { Asked, Questions } from "../runs/questions.ts";
import type { Sessions } from "../runs/sessions.ts";
import type { Line } from "./lines.ts";
import type { Item } from "./model.ts";
import type { Runs } from "./tree.ts";

interface Parts {
  desk: Desk;
  documents: Documents;
  language: Language;
  graph: GraphPanel;
  questions: Questions;
  sessions: Sessions;
  tree: Runs;
}

/** What an action does with the run of a line; of the line itself it needs what the step there waits for. */
type Act = (asked: Asked, item: Item) => Thenable<unknown> | void;

export function registerActions(parts: Parts): vscode.Disposable[] {
  const { desk, documents, language, graph, questions, sessions, tree } = parts;
  const on = (name: string, act: Act): vscode.Disposable =>
    vscode.commands.registerCommand(`interlock.run.${name}`, async (line?: Line) => {
      const { run, workflow } = line?.item ?? {};
      if (line === undefined || run === undefined) return;
      try {
        await act({ place: line.place, run, workflow: workflow ?? run }, line.item);
      } catch (error) {
        say(error);
      }
      tree.refresh();
    });
  const goOn = async ({ place, run, workflow }: Asked): Promise<void> => void sessions.resume(place, run, await known(language, workflow)).catch(say);
  return [
    on("open", async (asked) => {
      const { document, workflow } = await definition(language, asked.workflow);
      await goTo(document, workflow.range.start, false);
    }),
    on("watch", async (asked) => {
      const { document, workflow } = await definition(language, asked.workflow);
      await graph.show(document, workflow.name);
      sessions.watch(asked.place, asked.run);
    }),
    on("resume", goOn),
    on("retry", async (asked) => {
      await desk.succeed(asked.place, commands.retry(asked.place, asked.run));
      await goOn(asked);
    }),
    on("cancel", async ({ place, run, workflow }) => {
      const answer = await vscode.window.showWarningMessage(`Cancel the run ${run} of "${workflow}"?`, { modal: true }, "Cancel the Run");
      if (answer !== undefined) await desk.succeed(place, commands.cancel(place, run));
    }),
    on("approve", (asked) => questions.approve(asked)),
    on("reject", (asked) => questions.reject(asked)),
    on("signal", (asked, item) => questions.signal(asked, item.signals ?? [])),
    on("review", (asked, item) => questions.review(asked, item.path)),
    on("copy", ({ run }) => vscode.env.clipboard.writeText(run)),
    on("status", async ({ place, run }) => {
      const uri = documents.put(`${run}.json`, await desk.succeed(place, commands.status(place, run)));
      await vscode.window.showTextDocument(uri, { preview: true });
    }),
  ];
}

async function known(language: Language, name: string): Promise<WorkflowRow | undefined> {
  try {
    return (await definition(language, name)).workflow;
  } catch {
    return undefined; // the run has its own copy of the definition
  }
}
