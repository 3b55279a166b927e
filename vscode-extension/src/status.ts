/** The item of the status bar: the workspace's errors, the server's state, and the menu behind it. */
import * as vscode from "vscode";
import type { Language } from "./language.ts";
import type { Keeper } from "./program/keeper.ts";

const SOURCE = "interlock";

interface Counts {
  errors: number;
  warnings: number;
}

function counted(): Counts {
  const counts = { errors: 0, warnings: 0 };
  for (const [, rows] of vscode.languages.getDiagnostics())
    for (const row of rows) {
      if (row.source !== SOURCE) continue;
      if (row.severity === vscode.DiagnosticSeverity.Error) counts.errors += 1;
      if (row.severity === vscode.DiagnosticSeverity.Warning) counts.warnings += 1;
    }
  return counts;
}

export function statusBar(language: Language, keeper: Keeper): vscode.Disposable {
  const item = vscode.window.createStatusBarItem("interlock", vscode.StatusBarAlignment.Left, 5);
  item.name = "Interlock";
  item.command = "interlock.menu";
  const update = (): void => {
    const { errors, warnings } = counted();
    const program = keeper.program;
    if (!keeper.wanted && errors + warnings === 0) return item.hide(); // no workflows: nothing to say
    item.show();
    const words = `${errors} error${errors === 1 ? "" : "s"}, ${warnings} warning${warnings === 1 ? "" : "s"} in this workspace`;
    const about = program === undefined ? "" : `\ninterlock ${program.version}, ${program.path}`;
    const show = (icon: string, text: string, tooltip: string, bad = false): void => {
      item.text = `$(${icon}) ${text}`;
      item.tooltip = tooltip;
      item.backgroundColor = bad ? new vscode.ThemeColor("statusBarItem.warningBackground") : undefined;
      item.accessibilityInformation = { label: `Interlock: ${tooltip}` };
    };
    if (program === undefined) show("warning", "Interlock", "The program interlock was not found.", true);
    else if (language.state === "starting") show("sync~spin", "Interlock", `The language server starts.${about}`);
    else if (language.state !== "on") show("warning", "Interlock", `The language server has stopped.${about}`, true);
    else if (errors > 0) show("error", `Interlock ${errors}`, words + about);
    else show(warnings > 0 ? "info" : "check", warnings > 0 ? `Interlock ${warnings}` : "Interlock", words + about);
  };
  update();
  return vscode.Disposable.from(item, language.onDidChange(update), keeper.onDidChange(update), keeper.onDidWant(update), vscode.languages.onDidChangeDiagnostics(update));
}

/** What a click on the status bar offers. */
export async function menu(): Promise<void> {
  const rows = [
    { label: "$(list-unordered) Show Problems", command: "workbench.actions.view.problems" },
    { label: "$(type-hierarchy-sub) Show Graph", command: "interlock.showGraph", trusted: true },
    { label: "$(play) Run Workflow", command: "interlock.run", trusted: true },
    { label: "$(new-file) New Workflow", command: "interlock.new" },
    { label: "$(debug-restart) Restart Language Server", command: "interlock.restart" },
    { label: "$(output) Show Log", command: "interlock.showLog" },
    { label: "$(cloud-download) Make an Environment for Interlock", command: "interlock.install", trusted: true },
    { label: "$(gear) Settings", command: "workbench.action.openSettings", argument: "interlock." },
  ].filter((row) => vscode.workspace.isTrusted || row.trusted !== true);
  const chosen = await vscode.window.showQuickPick(rows, { title: "Interlock" });
  if (chosen !== undefined) await vscode.commands.executeCommand(chosen.command, ...(chosen.argument ? [chosen.argument] : []));
}
