/** Asks for the inputs of a run, in a page of its own. */
import * as vscode from "vscode";
import { localRoots, page } from "../webview.ts";
import { fieldsOf, gather, type Given, type Needs } from "./inputs.ts";

type Message =
  | { type: "ready" | "cancel" }
  | { type: "answers"; inputs: Record<string, string>; secrets: Record<string, string> };

/** What the person gave; undefined where they changed their mind. Nothing is asked where nothing is missing. */
export async function askInputs(workflow: Needs, extension: vscode.Uri): Promise<Given | undefined> {
  const fields = fieldsOf(workflow, process.env);
  if (fields.length === 0) return { inputs: {}, secrets: {} };
  const panel = vscode.window.createWebviewPanel(
    "interlock.inputs", `Run ${workflow.name}`, vscode.ViewColumn.Active,
    { enableScripts: true, localResourceRoots: localRoots(extension), retainContextWhenHidden: true },
  );
  return new Promise((resolve) => {
    let given: Given | undefined;
    panel.onDidDispose(() => resolve(given));
    panel.webview.onDidReceiveMessage((message: Message) => {
      if (message.type === "ready") void panel.webview.postMessage({ type: "fields", title: `Run ${workflow.name}`, fields });
      if (message.type === "cancel") panel.dispose();
      if (message.type !== "answers") return;
      const found = gather(workflow, message.inputs, message.secrets);
      if ("problems" in found) void panel.webview.postMessage({ type: "problems", problems: found.problems });
      else {
        given = found;
        panel.dispose();
      }
    });
    panel.webview.html = page(panel.webview, extension, "form", "<form novalidate></form>");
  });
}
