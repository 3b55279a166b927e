/** The links above the name of each workflow. */
import * as vscode from "vscode";
import { LANGUAGE, type Language } from "../language.ts";

export class Lenses implements vscode.CodeLensProvider {
  readonly #changed = new vscode.EventEmitter<void>();
  readonly onDidChangeCodeLenses = this.#changed.event;

  constructor(private readonly language: Language) {}

  register(): vscode.Disposable {
    const again = (): void => this.#changed.fire();
    return vscode.Disposable.from(
      this.#changed,
      this.language.onDidChange(again),
      vscode.workspace.onDidGrantWorkspaceTrust(again),
      vscode.workspace.onDidChangeConfiguration((change) => change.affectsConfiguration("interlock.codeLens") && again()),
      vscode.languages.registerCodeLensProvider({ language: LANGUAGE }, this),
    );
  }

  async provideCodeLenses(document: vscode.TextDocument): Promise<vscode.CodeLens[]> {
    const wanted = vscode.workspace.getConfiguration("interlock", document.uri).get("codeLens", true);
    if (!wanted || !vscode.workspace.isTrusted || this.language.state !== "on") return [];
    const rows = (await this.language.workflows(document.uri)) ?? [];
    return rows.flatMap(({ name, range }) => {
      const line = new vscode.Range(range.start.line, 0, range.start.line, 0);
      return [
        new vscode.CodeLens(line, { title: "$(play) Run", command: "interlock.run", arguments: [document.uri, name], tooltip: `Run ${name}` }),
        new vscode.CodeLens(line, { title: "$(type-hierarchy-sub) Graph", command: "interlock.showGraph", arguments: [document.uri, name], tooltip: `Show the graph of ${name}` }),
      ];
    });
  }
}
