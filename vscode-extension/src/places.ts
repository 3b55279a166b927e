/** Goes to a place in a text: in the column where the text is open already, never in one of the graph's. */
import * as vscode from "vscode";
import type { Position } from "./graph/model.ts";

export async function goTo(document: vscode.TextDocument, place: Position, keepFocus: boolean): Promise<void> {
  const at = new vscode.Position(place.line, place.character);
  const open = vscode.window.visibleTextEditors.find((one) => one.document === document);
  const editor = await vscode.window.showTextDocument(document, {
    viewColumn: open?.viewColumn ?? vscode.ViewColumn.One, preserveFocus: keepFocus, preview: false,
  });
  editor.selection = new vscode.Selection(at, at);
  editor.revealRange(new vscode.Range(at, at), vscode.TextEditorRevealType.InCenterIfOutsideViewport);
}
