// Bundles the extension for Node and the two webview scripts for the browser into dist/.
import { build } from "esbuild";

const production = process.argv.includes("--production");
const common = { bundle: true, minify: production, sourcemap: production ? false : "linked", logLevel: "warning", legalComments: "none" };

await Promise.all([
  build({ ...common, entryPoints: ["src/extension.ts"], outfile: "dist/extension.js", platform: "node", format: "cjs", target: "node20", external: ["vscode"] }),
  build({ ...common, entryPoints: ["webview/graph.ts", "webview/form.ts"], outdir: "dist", platform: "browser", format: "iife", target: "es2022" }),
]);
