/** What can be done with the lines of the view. */
import * as vscode from "vscode";
import type { GraphPanel } from "../graph/panel.ts";
import type { Language } from "../language.ts";
import * as commands from "../program/commandline.ts";
import { Refused, say, type Desk } from "../runs/desk.ts";
import type { WorkflowRow } from "../runs/inputs.ts";
import type { Asked, Questions } from "../runs/questions.ts";
import type { Sessions } from "../runs/sessions.ts";
import type { Line } from "./lines.ts";
import type { Item } from "./model.ts";
import type { Runs } from "./tree.ts";

interface Parts {
  desk: Desk;
  language: Language;
  graph: GraphPanel;
  questions: Questions;
  sessions: Sessions;
  tree: Runs;
}

interface Definition {
  document: vscode.TextDocument;
  workflow: WorkflowRow;
}

/** What an action does with the run of a line; of the line itself it needs what the step there waits for. */
type Act = (asked: Asked, item: Item) => Thenable<unknown> | void;

export function registerActions(parts: Parts): vscode.Disposable[] {
  const { desk, language, graph, questions, sessions, tree } = parts;
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
      const { line: at, character } = workflow.range.start;
      const editor = await vscode.window.showTextDocument(document);
      editor.selection = new vscode.Selection(at, character, at, character);
      editor.revealRange(editor.selection, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
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
      const content = await desk.succeed(place, commands.status(place, run));
      await vscode.window.showTextDocument(await vscode.workspace.openTextDocument({ content, language: "json" }), { preview: true });
    }),
  ];
}

/** Where a workflow of this name is written now. */
async function definition(language: Language, name: string): Promise<Definition> {
  const found = await vscode.commands.executeCommand<vscode.SymbolInformation[]>("vscode.executeWorkspaceSymbolProvider", name);
  for (const symbol of found) {
    if (symbol.name !== name || symbol.kind !== vscode.SymbolKind.Module) continue;
    const workflow = (await language.workflows(symbol.location.uri))?.find((row) => row.name === name);
    if (workflow !== undefined) return { document: await vscode.workspace.openTextDocument(symbol.location.uri), workflow };
  }
  throw new Refused(`There is no workflow "${name}" in this workspace any more.`);
}

async function known(language: Language, name: string): Promise<WorkflowRow | undefined> {
  try {
    return (await definition(language, name)).workflow;
  } catch {
    return undefined; // the run has its own copy of the definition
  }
}
