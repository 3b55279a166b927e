/** The frame of a webview's page: nothing remote, and only the script that carries the page's nonce. */
import { randomBytes } from "node:crypto";
import * as vscode from "vscode";

export function localRoots(extension: vscode.Uri): vscode.Uri[] {
  return [vscode.Uri.joinPath(extension, "dist"), vscode.Uri.joinPath(extension, "media")];
}

/** A page with its script and style sheet, both of the name given; `body` is markup without values in it. */
export function page(webview: vscode.Webview, extension: vscode.Uri, name: "graph" | "form", body: string): string {
  const nonce = randomBytes(18).toString("base64url");
  const script = webview.asWebviewUri(vscode.Uri.joinPath(extension, "dist", `${name}.js`));
  const style = webview.asWebviewUri(vscode.Uri.joinPath(extension, "media", `${name}.css`));
  const policy = `default-src 'none'; script-src 'nonce-${nonce}'; style-src ${webview.cspSource} 'nonce-${nonce}'; base-uri 'none'; form-action 'none'`;
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<link rel="stylesheet" href="${style}">
</head>
<body data-nonce="${nonce}">
${body}
<script nonce="${nonce}" src="${script}"></script>
</body>
</html>`;
}
