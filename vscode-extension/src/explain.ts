/** The pages of rules: which rule is meant, and its page as a preview. */
import * as vscode from "vscode";
import { suppressed } from "./comments.ts";
import type { Documents } from "./documents.ts";
import type { Language } from "./language.ts";
import { say } from "./runs/desk.ts";

/** The name of a diagnostic's rule. */
function ruleOf(row: vscode.Diagnostic): string | undefined {
  if (row.source !== "interlock") return undefined;
  const code = typeof row.code === "object" ? row.code.value : row.code;
  return code === undefined ? undefined : String(code);
}

export class Pages {
  constructor(
    private readonly language: Language,
    private readonly documents: Documents,
  ) {}

  /** Shows the page of a rule, else of the one under the cursor, else of one that is chosen. */
  async show(rule?: string): Promise<void> {
    const name = rule ?? (await this.#meant());
    if (name === undefined) return;
    let page;
    try {
      page = await this.language.explain(name);
    } catch (error) {
      return say(error);
    }
    await vscode.commands.executeCommand("markdown.showPreviewToSide", this.documents.put(`${page.code} ${page.name}.md`, page.markdown));
  }

  async #meant(): Promise<string | undefined> {
    const editor = vscode.window.activeTextEditor;
    if (editor === undefined) return undefined;
    const rows = vscode.languages.getDiagnostics(editor.document.uri).filter((row) => ruleOf(row) !== undefined);
    const at = editor.selection.active;
    const here = rows.filter((row) => row.range.contains(at));
    const near = here.length > 0 ? here : rows.filter((row) => row.range.start.line <= at.line && at.line <= row.range.end.line);
    const names = [...new Set(near.map(ruleOf))];
    if (names.length === 1) return names[0];
    const written = suppressed(editor.document.lineAt(at.line).text, at.character);
    if (names.length === 0 && written !== undefined) return written;
    const offered = near.length > 0 ? near : rows;
    if (offered.length === 0) {
      void vscode.window.showInformationMessage("Interlock has found nothing in this file that could be explained.");
      return undefined;
    }
    const rest = offered.filter((row, place) => offered.findIndex((other) => ruleOf(other) === ruleOf(row)) === place);
    const picks = rest.map((row) => ({ label: ruleOf(row) ?? "", description: `line ${row.range.start.line + 1}`, detail: row.message }));
    return (await vscode.window.showQuickPick(picks, { title: "Which rule?" }))?.label;
  }
}
