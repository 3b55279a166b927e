// An extension that stands in for the YAML extension of Red Hat: the same language server on the same
// language. The real one is only to be had from a marketplace, which a test should not need.
import { build } from "esbuild";
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

const SOURCE = (server) => `
import { LanguageClient } from "vscode-languageclient/node";
export async function activate(context) {
  const run = { module: ${JSON.stringify(server)}, transport: 1 };
  const client = new LanguageClient("yaml", "YAML", { run, debug: run }, { documentSelector: [{ language: "yaml" }] });
  context.subscriptions.push(client);
  await client.start();
}
`;

/** Packs it, and gives the path of the .vsix. */
export async function packYaml(tools, base) {
  const folder = join(base, "yaml");
  mkdirSync(folder);
  const server = join(tools, "node_modules/yaml-language-server/out/server/src/server.js");
  const manifest = {
    name: "yaml-for-test", publisher: "test", version: "1.0.0", engines: { vscode: "^1.90.0" }, main: "./main.js", activationEvents: ["onLanguage:yaml"],
  };
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
  writeFileSync(join(folder, "LICENSE"), "For tests only.\n");
  await build({
    stdin: { contents: SOURCE(server), resolveDir: resolve(".") }, outfile: join(folder, "main.js"), bundle: true, platform: "node", format: "cjs", external: ["vscode"], logLevel: "warning",
  });
  const vsce = resolve("node_modules/@vscode/vsce/vsce");
  const packed = spawnSync(process.execPath, [vsce, "package", "--no-dependencies", "--allow-missing-repository", "--out", "yaml.vsix"], { cwd: folder, encoding: "utf8" });
  if (packed.status !== 0) throw new Error(`The extension for YAML could not be packed: ${packed.stdout}${packed.stderr}`);
  return join(folder, "yaml.vsix");
}
