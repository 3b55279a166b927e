/** The graph beside the editor: asks the server, follows edits and the cursor, and opens what is clicked. */
import * as vscode from "vscode";
import { LANGUAGE, type Language } from "../language.ts";
import { goTo } from "../places.ts";
import { painted, type Progress } from "../runs/events.ts";
import type { WorkflowRow } from "../runs/inputs.ts";
import { localRoots, page } from "../webview.ts";
import { marksOf, nodeAt, nodesOf, workflowAt, type Finding, type Graph, type GraphNode, type Severity } from "./model.ts";

const BODY = `
<div id="bar" role="toolbar" aria-label="Graph">
<button id="out" title="Smaller (-)" aria-label="Smaller">−</button>
<button id="in" title="Larger (+)" aria-label="Larger">+</button>
<button id="fit" title="Show everything (0)">Fit</button>
<span id="zoom"></span>
<button id="save" title="Save as an SVG file">Export</button>
<button id="clear" title="Take the run off the picture" hidden>Clear Run</button>
<span id="status" role="status"></span>
</div>
<div id="problem" role="status"></div>
<div id="stage" role="application" aria-label="Graph"></div>`;

const EDIT_PAUSE = 120;

interface Shown {
  document: vscode.TextDocument;
  workflow: string | undefined;
  graph: Graph | undefined;
  /** The version of the text that the graph is of, and the graph's nodes. */
  version: number;
  nodes: GraphNode[];
  /** Why there is no picture of the text as it is now. */
  problem: string;
}

type Message =
  | { type: "ready" }
  | { type: "open"; path: string; keepFocus: boolean }
  | { type: "svg"; text: string; name: string }
  | { type: "clear" };

/** What the page remembers when the window is closed. */
interface Remembered {
  uri: string;
  workflow: string;
}

export class GraphPanel implements vscode.Disposable {
  #panel: vscode.WebviewPanel | undefined;
  #shown: Shown | undefined;
  #ready = false;
  #timer: NodeJS.Timeout | undefined;
  #asked = 0;
  /** The run that is shown of each workflow, by its name. */
  readonly #runs = new Map<string, Progress>();
  readonly #rest: vscode.Disposable[];

  constructor(
    private readonly language: Language,
    private readonly extension: vscode.Uri,
  ) {
    this.#rest = [
      vscode.workspace.onDidChangeTextDocument(({ document }) => this.#edited(document)),
      vscode.window.onDidChangeTextEditorSelection(({ textEditor }) => this.#moved(textEditor)),
      vscode.window.onDidChangeActiveTextEditor((editor) => editor && this.#switched(editor)),
      vscode.languages.onDidChangeDiagnostics(({ uris }) => {
        const uri = this.#shown?.document.uri.toString();
        if (uri !== undefined && uris.some((one) => one.toString() === uri)) this.#mark();
      }),
      language.onDidChange((state) => state === "on" && this.#soon(0)),
    ];
  }

  dispose(): void {
    clearTimeout(this.#timer);
    this.#panel?.dispose();
    vscode.Disposable.from(...this.#rest).dispose();
  }

  /** Opens the graph again that was open when the window was closed. */
  register(): vscode.Disposable {
    return vscode.window.registerWebviewPanelSerializer("interlock.graph", {
      deserializeWebviewPanel: async (panel, state: Remembered | undefined) => {
        if (state === undefined || this.#panel !== undefined || !vscode.workspace.isTrusted) return panel.dispose();
        try {
          const document = await vscode.workspace.openTextDocument(vscode.Uri.parse(state.uri, true));
          this.#begin(document, state.workflow);
          this.#take(panel);
          if (this.language.state === "on") this.#soon(0); // else it is drawn once the server is there
        } catch {
          panel.dispose(); // the file is gone
        }
      },
    });
  }

  #begin(document: vscode.TextDocument, workflow: string | undefined): void {
    this.#shown = { document, workflow, graph: undefined, version: -1, nodes: [], problem: "" };
  }

  /** Opens the graph of a workflow; without a name of the one at the cursor. */
  async show(document: vscode.TextDocument, workflow?: string): Promise<void> {
    this.#begin(document, workflow);
    if (this.#panel === undefined) this.#open();
    else this.#panel.reveal(undefined, true);
    await this.#draw();
  }

  /** Has the picture saved as an SVG file. */
  export(): void {
    this.#send({ type: "export" });
  }

  /** Chooses the run that is shown on the graph of its workflow. */
  choose(run: Progress): void {
    this.#runs.set(run.workflow, run);
    this.progress(run);
  }

  /** Shows how far a run is, where it is the one that was chosen. */
  progress(run: Progress): void {
    if (run.workflow === this.#shown?.graph?.workflow && this.#runs.get(run.workflow) === run) this.#states();
  }

  #open(): void {
    const where = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
    this.#take(vscode.window.createWebviewPanel("interlock.graph", "Graph", where, { retainContextWhenHidden: true }));
  }

  #take(panel: vscode.WebviewPanel): void {
    this.#panel = panel;
    panel.webview.options = { enableScripts: true, localResourceRoots: localRoots(this.extension) };
    this.#ready = false;
    panel.iconPath = vscode.Uri.joinPath(this.extension, "media", "file.svg");
    panel.webview.onDidReceiveMessage((message: Message) => this.#said(message));
    panel.onDidDispose(() => {
      this.#panel = undefined;
      this.#shown = undefined;
      void vscode.commands.executeCommand("setContext", "interlock.graphOpen", false);
    });
    panel.webview.html = page(panel.webview, this.extension, "graph", BODY);
    void vscode.commands.executeCommand("setContext", "interlock.graphOpen", true);
  }

  #send(message: unknown): void {
    void this.#panel?.webview.postMessage(message);
  }

  #said(message: Message): void {
    if (message.type === "ready") {
      this.#ready = true;
      this.#sendAll();
    } else if (message.type === "open") void this.#goTo(message.path, message.keepFocus);
    else if (message.type === "svg") void this.#save(message.text, message.name);
    else if (message.type === "clear") {
      this.#runs.delete(this.#shown?.graph?.workflow ?? "");
      this.#send({ type: "states", states: {}, status: "" });
    }
  }

  #sendAll(): void {
    const { graph, document, problem } = this.#shown ?? {};
    if (!this.#ready || document === undefined) return;
    if (graph === undefined) return this.#send({ type: "problem", text: problem });
    const remembered: Remembered = { uri: document.uri.toString(), workflow: graph.workflow };
    this.#send({ type: "graph", graph, remembered });
    this.#mark();
    this.#states();
    const editor = vscode.window.visibleTextEditors.find((one) => one.document === this.#shown?.document);
    if (editor !== undefined) this.#cursor(editor, false);
  }

  // -- what is drawn ------------------------------------------------------------------------------

  #edited(document: vscode.TextDocument): void {
    if (document === this.#shown?.document) this.#soon(EDIT_PAUSE);
  }

  #soon(pause: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#draw(), pause);
  }

  async #draw(): Promise<void> {
    const shown = this.#shown;
    if (shown === undefined) return;
    const asked = ++this.#asked;
    const { document } = shown;
    const version = document.version;
    try {
      shown.workflow ??= await this.#atCursor(document);
      const graph = await this.language.graph(document.uri, shown.workflow);
      if (asked !== this.#asked || this.#shown !== shown) return;
      if (document.version !== version) return this.#soon(EDIT_PAUSE);
      Object.assign(shown, { graph, version, nodes: nodesOf(graph), problem: "" });
      if (this.#panel !== undefined) this.#panel.title = `Graph: ${graph.workflow}`;
      this.#sendAll();
    } catch (error) {
      if (asked !== this.#asked || this.#shown !== shown) return;
      if (shown.workflow !== undefined && (await this.#gone(shown))) return;
      const kept = shown.graph === undefined ? "" : " The picture is of the text before.";
      shown.problem = (error instanceof Error ? error.message : String(error)) + kept;
      this.#send({ type: "problem", text: shown.problem });
    }
  }

  /** Whether the workflow was renamed or removed; then the one at the cursor is drawn instead. */
  async #gone(shown: Shown): Promise<boolean> {
    let rows: WorkflowRow[] | null;
    try {
      rows = await this.language.workflows(shown.document.uri);
    } catch {
      return false;
    }
    if (!rows?.length || rows.some((row) => row.name === shown.workflow)) return false;
    shown.workflow = undefined;
    this.#soon(0);
    return true;
  }

  async #atCursor(document: vscode.TextDocument): Promise<string | undefined> {
    const editor = vscode.window.visibleTextEditors.find((one) => one.document === document);
    const rows = await this.language.workflows(document.uri);
    return workflowAt(rows ?? [], editor?.selection.active.line ?? 0)?.name;
  }

  #mark(): void {
    const shown = this.#shown;
    if (shown?.graph === undefined || shown.document.version !== shown.version) return;
    const rows = vscode.languages.getDiagnostics(shown.document.uri).filter((row) => row.source === "interlock");
    const findings = rows.map((row): Finding => ({ start: row.range.start, severity: severityOf(row), message: row.message }));
    this.#send({ type: "marks", marks: marksOf(shown.nodes, findings, shown.graph.range) });
  }

  #states(): void {
    const run = this.#runs.get(this.#shown?.graph?.workflow ?? "");
    if (run !== undefined) this.#send({ type: "states", states: painted(run), status: `run ${statusWords(run)}` });
  }

  // -- text and picture ---------------------------------------------------------------------------

  #switched(editor: vscode.TextEditor): void {
    if (this.#panel === undefined || editor.document.languageId !== LANGUAGE || editor.document === this.#shown?.document) return;
    this.#begin(editor.document, undefined);
    this.#soon(0);
  }

  #moved(editor: vscode.TextEditor): void {
    const shown = this.#shown;
    if (shown === undefined || editor.document !== shown.document) return;
    this.#cursor(editor, vscode.workspace.getConfiguration("interlock").get("graph.followCursor", true));
  }

  #cursor(editor: vscode.TextEditor, reveal: boolean): void {
    const shown = this.#shown;
    if (shown === undefined || shown.document.version !== shown.version) return;
    const path = nodeAt(shown.nodes, editor.selection.active);
    this.#send({ type: "cursor", path: path ?? null, reveal });
    if (path === undefined) void this.#another(shown, editor.selection.active.line);
  }

  /** Draws another workflow of the file once the cursor stands in it. */
  async #another(shown: Shown, line: number): Promise<void> {
    try {
      const rows = await this.language.workflows(shown.document.uri);
      const name = workflowAt(rows ?? [], line)?.name;
      if (this.#shown !== shown || name === undefined || name === shown.workflow) return;
      shown.workflow = name;
      this.#soon(0);
    } catch {
      // The picture stays: it is drawn again when the server is back.
    }
  }

  async #goTo(path: string, keepFocus: boolean): Promise<void> {
    const shown = this.#shown;
    const place = shown?.nodes.find((one) => one.path === path)?.range.start;
    if (shown === undefined || place === undefined) return;
    await goTo(shown.document, place, keepFocus);
  }

  async #save(text: string, name: string): Promise<void> {
    const shown = this.#shown;
    const folder = shown && vscode.Uri.joinPath(shown.document.uri, "..");
    const target = await vscode.window.showSaveDialog({
      ...(folder ? { defaultUri: vscode.Uri.joinPath(folder, `${name}.svg`) } : {}), filters: { SVG: ["svg"] },
    });
    if (target === undefined) return;
    await vscode.workspace.fs.writeFile(target, new TextEncoder().encode(text));
    void vscode.window.showInformationMessage(`The graph was saved as ${vscode.workspace.asRelativePath(target)}.`);
  }
}

function severityOf(row: vscode.Diagnostic): Severity {
  if (row.severity === vscode.DiagnosticSeverity.Error) return "error";
  return row.severity === vscode.DiagnosticSeverity.Warning ? "warning" : "hint";
}

function statusWords(run: Progress): string {
  if (run.over) return run.status;
  const states = new Set([...run.steps.values()].map((step) => step.state));
  if (states.has("review")) return "held for review";
  return run.questions.length > 0 && !states.has("running") ? "waits for you" : run.status;
}
