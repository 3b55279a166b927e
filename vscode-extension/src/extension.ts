/** The extension as the editor starts it: makes the parts, and connects them with commands and events. */
import * as vscode from "vscode";
import { begin, meant } from "./definitions.ts";
import { Documents } from "./documents.ts";
import { Pages } from "./explain.ts";
import { GraphPanel } from "./graph/panel.ts";
import { adopt, Language, LANGUAGE, showReferences } from "./language.ts";
import { Keeper } from "./program/keeper.ts";
import { Desk, say } from "./runs/desk.ts";
import { Lenses } from "./runs/lens.ts";
import { Questions } from "./runs/questions.ts";
import { Sessions } from "./runs/sessions.ts";
import { menu, statusBar } from "./status.ts";
import { registerActions } from "./view/actions.ts";
import { Runs } from "./view/tree.ts";

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  await vscode.workspace.fs.createDirectory(context.globalStorageUri);
  const log = vscode.window.createOutputChannel("Interlock");
  const output = vscode.window.createOutputChannel("Interlock Runs");
  const keeper = new Keeper(context, log);
  // The server reads what the client tells it to; the folder that it starts in must not matter.
  const language = new Language(log, context.globalStorageUri.fsPath);
  const desk = new Desk(keeper, log);
  const graph = new GraphPanel(language, context.extensionUri);
  const questions = new Questions(desk);
  const sessions = new Sessions(desk, language, graph, questions, output, context.extensionUri);
  const tree = new Runs(desk);
  const documents = new Documents();
  const pages = new Pages(language, documents);
  context.subscriptions.push(
    log, output, keeper, language, graph, graph.register(), sessions, tree, documents.register(), statusBar(language, keeper),
    new Lenses(language).register(),
    ...registerActions({ desk, documents, language, graph, questions, sessions, tree }),
    sessions.onDidChange(() => tree.refresh(300)),
    keeper.onDidChange((program) => {
      void language.start(program); // whoever looked for it: at the start, by a setting, after an installation
      tree.refresh();
    }),
  );

  const on = (name: string, act: (...args: never[]) => unknown): void => {
    const run = async (...args: never[]): Promise<void> => {
      try {
        await act(...args);
      } catch (error) {
        say(error);
      }
    };
    context.subscriptions.push(vscode.commands.registerCommand(`interlock.${name}`, run));
  };
  const search = async (): Promise<void> => void (await keeper.find());
  on("restart", search);
  on("showLog", () => log.show());
  on("showRunLog", () => output.show());
  on("menu", menu);
  on("showReferences", showReferences);
  on("install", () => keeper.install());
  on("explainRule", (rule?: unknown) => pages.show(typeof rule === "string" ? rule : undefined));
  on("refresh", () => tree.refresh());
  on("exportGraph", () => graph.export());
  on("new", begin);
  on("showGraph", async (uri?: unknown, workflow?: unknown) => {
    const found = await meant(uri, workflow);
    if (found !== undefined) await graph.show(found.document, found.workflow);
  });
  on("run", async (uri?: unknown, workflow?: unknown) => {
    const found = await meant(uri, workflow);
    const line = vscode.window.activeTextEditor?.selection.active.line;
    if (found !== undefined) void sessions.start(found.document, found.workflow, line);
  });
  listen(context, keeper, language, search);
  void look(keeper);
  void search();
}

function listen(context: vscode.ExtensionContext, keeper: Keeper, language: Language, search: () => Promise<void>): void {
  const see = (document: vscode.TextDocument): void => {
    if (document.languageId !== LANGUAGE) return void adopt(document, language);
    keeper.want();
    void vscode.commands.executeCommand("setContext", "interlock.opened", true); // a step of the walkthrough
  };
  const adoptAll = (): void => vscode.workspace.textDocuments.forEach(see);
  context.subscriptions.push(
    vscode.workspace.onDidOpenTextDocument(see),
    vscode.workspace.onDidSaveTextDocument(see),
    language.onDidChange((state) => state === "on" && adoptAll()),
    vscode.workspace.onDidGrantWorkspaceTrust(() => void search()),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (["path", "server", "trace"].some((name) => change.affectsConfiguration(`interlock.${name}`))) void search();
    }),
  );
  adoptAll();
}

/** Looks whether the workspace has workflows, also where none is open. */
async function look(keeper: Keeper): Promise<void> {
  const found = await vscode.workspace.findFiles("**/{*.workflow.yaml,*.workflow.yml,interlock.toml}", "**/node_modules/**", 1);
  if (found.length > 0) keeper.want();
}
