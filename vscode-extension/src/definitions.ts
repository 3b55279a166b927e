/** Where workflows are written: the one of a name, the one that a command means, and a new one. */
import * as vscode from "vscode";
import { LANGUAGE, type Language } from "./language.ts";
import { goTo } from "./places.ts";
import { Refused } from "./runs/desk.ts";
import type { WorkflowRow } from "./runs/inputs.ts";

export interface Definition {
  document: vscode.TextDocument;
  workflow: WorkflowRow;
}

/** A document, and which of its workflows is meant; undefined for the one at the cursor. */
export interface Meant {
  document: vscode.TextDocument;
  workflow: string | undefined;
}

/** The workflows of the workspace that a name stands for, as the server finds them. */
async function found(name: string): Promise<vscode.SymbolInformation[]> {
  const symbols = await vscode.commands.executeCommand<vscode.SymbolInformation[]>("vscode.executeWorkspaceSymbolProvider", name);
  return symbols.filter((one) => one.kind === vscode.SymbolKind.Module);
}

/** Where a workflow of this name is written now. */
export async function definition(language: Language, name: string): Promise<Definition> {
  for (const symbol of await found(name)) {
    if (symbol.name !== name) continue;
    const workflow = (await language.workflows(symbol.location.uri))?.find((row) => row.name === name);
    if (workflow !== undefined) return { document: await vscode.workspace.openTextDocument(symbol.location.uri), workflow };
  }
  throw new Refused(`There is no workflow "${name}" in this workspace any more.`);
}

/** What a command means: what it was given, else what is seen in an editor, else one of the workspace by choice. */
export async function meant(uri: unknown, workflow: unknown): Promise<Meant | undefined> {
  const name = typeof workflow === "string" ? workflow : undefined;
  if (uri instanceof vscode.Uri) return { document: await vscode.workspace.openTextDocument(uri), workflow: name };
  const seen = [vscode.window.activeTextEditor, ...vscode.window.visibleTextEditors].map((one) => one?.document);
  const document = seen.find((one) => one?.languageId === LANGUAGE);
  return document === undefined ? chosen() : { document, workflow: name };
}

async function chosen(): Promise<Meant | undefined> {
  const rows = (await found("")).map(({ name, location }) => ({ label: name, description: vscode.workspace.asRelativePath(location.uri), location }));
  if (rows.length === 0) throw new Refused("There is no workflow in this workspace; open or write one first.");
  rows.sort((one, other) => (one.label < other.label ? -1 : 1));
  const row = rows.length > 1 ? await vscode.window.showQuickPick(rows, { title: "Which workflow?", matchOnDescription: true }) : rows[0];
  if (row === undefined) return undefined;
  const document = await vscode.workspace.openTextDocument(row.location.uri);
  await goTo(document, row.location.range.start, false);
  return { document, workflow: row.label };
}

/** Begins a workflow in a file that has no name yet. */
export async function begin(): Promise<void> {
  await vscode.window.showTextDocument(await vscode.workspace.openTextDocument({ language: LANGUAGE }), { preview: false });
  await vscode.commands.executeCommand("editor.action.insertSnippet", { langId: LANGUAGE, name: "Workflow" });
}
