/** The language client: starts the server, restarts it, and asks it what the features here need. */
import * as vscode from "vscode";
import { ExecuteCommandRequest, LanguageClient, RevealOutputChannelOn, State, Trace, TransportKind, type Location, type Position } from "vscode-languageclient/node";
import { hasModeline } from "./comments.ts";
import type { Graph } from "./graph/model.ts";
import type { Program } from "./program/keeper.ts";
import type { WorkflowRow } from "./runs/inputs.ts";

export const LANGUAGE = "interlock-workflow";

export interface RulePage {
  code: string;
  name: string;
  markdown: string;
}

export type ServerState = "off" | "starting" | "on" | "failed";

export class Language implements vscode.Disposable {
  #client: LanguageClient | undefined;
  #turn: Promise<void> = Promise.resolve();
  #state: ServerState = "off";
  readonly #changed = new vscode.EventEmitter<ServerState>();
  readonly onDidChange = this.#changed.event;

  constructor(
    private readonly log: vscode.OutputChannel,
    private readonly cwd: string,
  ) {}

  dispose(): void {
    this.#changed.dispose();
    void this.#client?.dispose();
  }

  get state(): ServerState {
    return this.#state;
  }

  #say(state: ServerState): void {
    this.#state = state;
    this.#changed.fire(state);
  }

  /** Starts the server of this program, after ending the one before; without a program there is none. */
  start(program: Program | undefined): Promise<void> {
    this.#turn = this.#turn.then(() => this.#restart(program));
    return this.#turn;
  }

  async #restart(program: Program | undefined): Promise<void> {
    const before = this.#client;
    this.#client = undefined;
    try {
      await before?.dispose();
    } catch (error) {
      this.log.appendLine(`The language server did not end well: ${String(error)}`);
    }
    if (program === undefined) return this.#say("off");
    const settings = vscode.workspace.getConfiguration("interlock");
    const level = settings.get<string>("server.logLevel", "warning");
    const client = new LanguageClient(
      "interlock",
      "Interlock",
      {
        command: program.path,
        args: ["lsp", `--log-level=${level}`],
        transport: TransportKind.stdio,
        options: { cwd: this.cwd, shell: false },
      },
      {
        documentSelector: [
          { scheme: "file", language: LANGUAGE },
          { scheme: "untitled", language: LANGUAGE },
          // What the server says of settings and of the host's blocks comes as they are typed.
          { scheme: "file", pattern: "**/{interlock.toml,pyproject.toml,interlock.blocks.json}" },
        ],
        outputChannel: this.log,
        revealOutputChannelOn: RevealOutputChannelOn.Never,
        markdown: { isTrusted: false, supportHtml: false },
        middleware: {
          // The link that runs a workflow is the extension's own: it looks at trust and settings.
          provideDiagnostics: async (document, previous, token, next) => linked(await next(document, previous, token)),
          provideWorkspaceDiagnostics: (previous, token, report, next) =>
            next(previous, token, (part) => report(part && { ...part, items: part.items.map(linked) })),
          handleDiagnostics: (uri, rows, next) => next(uri, rows.map(withPage)),
          provideCodeLenses: async (document, token, next) =>
            (await next(document, token))?.filter((one) => one.command?.command !== "interlock.run"),
        },
      },
    );
    client.onDidChangeState(({ newState }) => {
      if (this.#client !== client) return;
      this.#say(newState === State.Running ? "on" : newState === State.Starting ? "starting" : "failed");
    });
    this.#client = client;
    this.#say("starting");
    try {
      await client.start();
      await client.setTrace(Trace.fromString(settings.get<string>("trace.server", "off")));
    } catch (error) {
      this.log.appendLine(`The language server did not start: ${String(error)}`);
      this.#say("failed");
    }
  }

  async #execute<T>(command: string, ...args: unknown[]): Promise<T> {
    await this.#turn;
    const client = this.#client;
    if (client === undefined || !client.isRunning()) throw new Error("The language server is not running.");
    return (await client.sendRequest(ExecuteCommandRequest.type, { command, arguments: args })) as T;
  }

  /** The document as the server names it. */
  #uri(uri: vscode.Uri): string {
    return this.#client?.code2ProtocolConverter.asUri(uri) ?? uri.toString();
  }

  graph(uri: vscode.Uri, workflow: string | undefined): Promise<Graph> {
    return this.#execute<Graph>("interlock.graph", this.#uri(uri), ...(workflow === undefined ? [] : [workflow]));
  }

  /** The workflows of a file; null where it is no workflow file. */
  workflows(uri: vscode.Uri): Promise<WorkflowRow[] | null> {
    return this.#execute<WorkflowRow[] | null>("interlock.workflows", this.#uri(uri));
  }

  explain(rule: string): Promise<RulePage> {
    return this.#execute<RulePage>("interlock.explain", rule);
  }
}

/** A diagnostic whose link opens the page of its rule as a page, not as the text of one. */
function withPage(row: vscode.Diagnostic): vscode.Diagnostic {
  if (typeof row.code !== "object") return row;
  const { value } = row.code;
  row.code = { value, target: vscode.Uri.parse(`command:interlock.explainRule?${encodeURIComponent(JSON.stringify([String(value)]))}`) };
  return row;
}

function linked<T>(report: T): T {
  const { items } = (report ?? {}) as { items?: vscode.Diagnostic[] };
  items?.forEach(withPage);
  return report;
}

/** Shows places that the server has found, as it names them in a code lens. */
export async function showReferences(uri: string, at: Position, places: Location[]): Promise<void> {
  const where = (one: Position): vscode.Position => new vscode.Position(one.line, one.character);
  const locations = places.map(({ uri: file, range }) => new vscode.Location(vscode.Uri.parse(file, true), new vscode.Range(where(range.start), where(range.end))));
  await vscode.commands.executeCommand("editor.action.showReferences", vscode.Uri.parse(uri, true), where(at), locations);
}

/** Gives files that are workflows by their first comment or by `interlock.toml` the language of workflows. */
export async function adopt(document: vscode.TextDocument, language: Language): Promise<void> {
  if (document.languageId !== "yaml" || document.uri.scheme !== "file") return;
  const head = document.getText(new vscode.Range(0, 0, 20, 0));
  let workflow = hasModeline(head);
  if (!workflow && language.state === "on") {
    try {
      workflow = (await language.workflows(document.uri)) !== null;
    } catch {
      return; // the server went away meanwhile; it is asked again when it is back
    }
  }
  if (workflow && !document.isClosed) await vscode.languages.setTextDocumentLanguage(document, LANGUAGE);
}
