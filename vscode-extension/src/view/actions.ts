/** What can be done with the lines of the view. */
import * as vscode from "vscode";
import type { GraphPanel } from "../graph/panel.ts";
import type { Language } from "../language.ts";
import * as commands from "../program/commandline.ts";
import { Refused, say, type Desk } from "../runs/desk.ts";
import type { WorkflowRow } from "../runs/inputs.ts";
import type { Questions } from "../runs/questions.ts";
import type { Sessions } from "../runs/sessions.ts";
import type { Line, Runs } from "./tree.ts";

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

export function registerActions(parts: Parts): vscode.Disposable[] {
  const { desk, graph, questions, sessions, tree } = parts;
  const on = (name: string, act: (line: Line, run: string) => Thenable<unknown> | void): vscode.Disposable =>
    vscode.commands.registerCommand(`interlock.run.${name}`, async (line?: Line) => {
      if (line?.run === undefined) return;
      try {
        await act(line, line.run);
      } catch (error) {
        say(error);
      }
      tree.refresh();
    });
  const asked = (line: Line, run: string) => ({ place: line.place, run, workflow: line.workflow ?? run });
  return [
    on("open", async (line) => {
      const { document, workflow } = await definition(parts.language, line.workflow ?? "");
      const { line: at, character } = workflow.range.start;
      const editor = await vscode.window.showTextDocument(document);
      editor.selection = new vscode.Selection(at, character, at, character);
      editor.revealRange(editor.selection, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
    }),
    on("watch", async (line, run) => {
      const { document, workflow } = await definition(parts.language, line.workflow ?? "");
      await graph.show(document, workflow.name);
      sessions.watch(line.place, run);
    }),
    on("resume", async (line, run) => void sessions.resume(line.place, run, await known(parts.language, line.workflow)).catch(say)),
    on("retry", async (line, run) => {
      await desk.succeed(line.place, commands.retry(line.place, run));
      void sessions.resume(line.place, run, await known(parts.language, line.workflow)).catch(say);
    }),
    on("cancel", async (line, run) => {
      const answer = await vscode.window.showWarningMessage(`Cancel the run ${run} of "${line.workflow}"?`, { modal: true }, "Cancel the Run");
      if (answer !== undefined) await desk.succeed(line.place, commands.cancel(line.place, run));
    }),
    on("approve", (line, run) => questions.approve(asked(line, run))),
    on("reject", (line, run) => questions.reject(asked(line, run))),
    on("signal", (line, run) => questions.signal(asked(line, run), line.signals ?? [])),
    on("review", (line, run) => questions.review(asked(line, run), line.path)),
    on("copy", (_, run) => vscode.env.clipboard.writeText(run)),
    on("status", async (line, run) => {
      const content = await desk.succeed(line.place, commands.status(line.place, run));
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

async function known(language: Language, name: string | undefined): Promise<WorkflowRow | undefined> {
  try {
    return name === undefined ? undefined : (await definition(language, name)).workflow;
  } catch {
    return undefined; // the run has its own copy of the definition
  }
}
