/**
 * Knows which `interlock` is used: finds it, tries it, and makes an environment for it when asked to. What is
 * made of the program is left to others.
 */
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import * as vscode from "vscode";
import { broughtVersion, candidates, interpreters, notMade, programsOf, suitsInterlock, versionOf, type Found, type Origin } from "./finding.ts";
import { complaint, perform } from "./process.ts";

export interface Program {
  path: string;
  origin: Origin;
  version: string;
}

const WHERE: Record<Origin, string> = {
  setting: "by the setting interlock.path",
  workspace: "in the workspace's virtual environment",
  interpreter: "beside the Python extension's interpreter",
  path: "on the PATH",
  own: "in the environment of this extension",
};

export class Keeper implements vscode.Disposable {
  #program: Program | undefined;
  #looked = false;
  #searches = 0;
  #offered = false;
  #wanted = false;
  readonly #changed = new vscode.EventEmitter<Program | undefined>();
  /** The program was looked for, whether it is another one or not. */
  readonly onDidChange = this.#changed.event;
  readonly #asked = new vscode.EventEmitter<void>();
  /** The first workflow was seen. */
  readonly onDidWant = this.#asked.event;

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly log: vscode.OutputChannel,
  ) {}

  dispose(): void {
    this.#changed.dispose();
    this.#asked.dispose();
  }

  get program(): Program | undefined {
    return this.#program;
  }

  /** Whether there are workflows here at all. */
  get wanted(): boolean {
    return this.#wanted;
  }

  /** Says that there are workflows here: where no program is found, one is offered, once. */
  want(): void {
    if (!this.#wanted) {
      this.#wanted = true;
      this.#asked.fire();
    }
    void this.#offer();
  }

  /** Looks for the program anew. */
  async find(): Promise<Program | undefined> {
    const search = ++this.#searches;
    const found = await this.#first();
    if (search !== this.#searches) return this.#program; // it was looked for again meanwhile, by newer settings
    this.#program = found;
    this.#looked = true;
    await vscode.commands.executeCommand("setContext", "interlock.found", found !== undefined);
    if (found !== undefined) this.log.appendLine(`interlock ${found.version}, found ${WHERE[found.origin]}: ${found.path}`);
    this.#changed.fire(found);
    void this.#offer();
    return found;
  }

  async #first(): Promise<Program | undefined> {
    const setting = vscode.workspace.getConfiguration("interlock").get<string>("path", "").trim();
    const found = candidates({
      platform: process.platform,
      setting,
      home: os.homedir(),
      folders: folders(),
      interpreter: vscode.workspace.isTrusted ? await this.#interpreter() : undefined,
      path: process.env["PATH"] ?? process.env["Path"],
      own: this.#own,
      trusted: vscode.workspace.isTrusted,
      exists: (one) => fs.existsSync(one),
    });
    for (const one of found) {
      const version = await this.#version(one);
      if (version !== undefined) return { ...one, version };
    }
    const why = setting === "" ? "There is no interlock" : `The setting interlock.path names "${setting}", and there is none`;
    this.log.appendLine(`${why}${found.length > 0 ? " that works" : ""}.`);
    return undefined;
  }

  async #version(one: Found): Promise<string | undefined> {
    const ended = await perform(one.path, { args: ["--version"] }, { timeout: 20_000, cwd: this.context.extensionPath });
    const version = versionOf(ended.stdout);
    if (version === undefined) this.log.appendLine(`"${one.path}" is not used: ${complaint(ended)}`);
    return version;
  }

  /** The interpreter that the Python extension would use here. */
  async #interpreter(): Promise<string | undefined> {
    const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
    try {
      const python = vscode.extensions.getExtension("ms-python.python");
      const api = (await python?.activate()) as
        | { environments?: { getActiveEnvironmentPath(resource?: vscode.Uri): { path: string } } }
        | undefined;
      const found = api?.environments?.getActiveEnvironmentPath(folder).path;
      if (found !== undefined && found !== "") return fs.statSync(found).isDirectory() ? path.join(programsOf(found, process.platform), "python") : found;
    } catch (error) {
      this.log.appendLine(`The Python extension did not tell its interpreter: ${String(error)}`);
    }
    const set = vscode.workspace.getConfiguration("python", folder).get<string>("defaultInterpreterPath", "");
    return path.isAbsolute(set) ? set : undefined;
  }

  get #own(): string {
    return path.join(this.context.globalStorageUri.fsPath, "environment");
  }

  /** The wheel that came with the extension, and its version; undefined in a copy that was built without it. */
  #brought(): { wheel: string; version: string } | undefined {
    const folder = path.join(this.context.extensionPath, "dist", "program");
    for (const name of fs.existsSync(folder) ? fs.readdirSync(folder) : []) {
      const version = broughtVersion(name);
      if (version !== undefined) return { wheel: path.join(folder, name), version };
    }
    return undefined;
  }

  get #package(): string {
    return vscode.workspace.getConfiguration("interlock").get<string>("package", "").trim();
  }

  /** Where there are workflows and no program, or an outdated one of our own, offers to make an environment. */
  async #offer(): Promise<void> {
    if (!vscode.workspace.isTrusted || !this.#wanted || !this.#looked || this.#offered) return;
    const brought = this.#package === "" ? this.#brought()?.version : undefined;
    const old = this.#program?.origin === "own" && brought !== undefined && this.#program.version !== brought;
    if (this.#program !== undefined && !old) return;
    this.#offered = true;
    const [make, choose, show] = [old ? "Renew the Environment" : "Make an Environment", "Choose a Program…", "Show Log"];
    const answer = old
      ? await vscode.window.showInformationMessage(`The environment of this extension has interlock ${this.#program?.version}; the extension now brings ${brought}.`, make)
      : await vscode.window.showWarningMessage(
        "The program \"interlock\" was not found, so workflows are not checked. An environment with it can be made for you.",
        make, choose, show,
      );
    if (answer === make) await this.install();
    if (answer === show) this.log.show();
    if (answer === choose) await vscode.commands.executeCommand("workbench.action.openSettings", "interlock.path");
  }

  /** Makes an environment in the extension's storage and installs the program there. */
  async install(): Promise<void> {
    if (!vscode.workspace.isTrusted) return;
    const problem = await vscode.window.withProgress(
      { location: vscode.ProgressLocation.Notification, title: "Interlock", cancellable: false },
      async (progress) => {
        try {
          return await this.#make((message) => progress.report({ message }));
        } catch (error) {
          return String(error);
        }
      },
    );
    if (problem === undefined) {
      await this.find();
      return;
    }
    this.log.appendLine(problem);
    const answer = await vscode.window.showErrorMessage(`The environment could not be made: ${problem}`, "Show Log");
    if (answer !== undefined) this.log.show();
  }

  /** What went wrong, in one sentence; undefined where it worked. */
  async #make(report: (message: string) => void): Promise<string | undefined> {
    report("looking for Python");
    const python = await this.#python();
    if (python === undefined) return "Python 3.11 or newer was not found on the PATH; install it, and try again.";
    await fs.promises.mkdir(path.dirname(this.#own), { recursive: true });
    const made = programsOf(this.#own, process.platform);
    const wanted = this.#package || this.#brought()?.wheel;
    if (wanted === undefined) return "this copy of the extension brings no program; set interlock.package to what pip should install.";
    const steps: [string, string, string[]][] = [
      ["making the environment", python.command, [...python.args, "-m", "venv", "--clear", this.#own]],
      ["installing interlock", path.join(made, "python"), ["-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--", wanted]],
    ];
    for (const [what, program, args] of steps) {
      report(what);
      this.log.appendLine(`${what}: ${program} ${args.join(" ")}`);
      const ended = await perform(program, { args }, { cwd: this.context.globalStorageUri.fsPath });
      this.log.appendLine(ended.stdout + ended.stderr);
      if (ended.code !== 0) return `${what} failed: ${notMade(ended.stdout + ended.stderr) ?? complaint(ended)}`;
    }
    report("trying it");
    const program = path.join(made, process.platform === "win32" ? "interlock.exe" : "interlock");
    const version = await this.#version({ path: program, origin: "own" });
    return version === undefined ? `what was installed as "${wanted}" is not this Interlock.` : undefined;
  }

  async #python(): Promise<{ command: string; args: string[] } | undefined> {
    for (const one of interpreters(process.platform)) {
      const ended = await perform(one.command, { args: [...one.args, "--version"] }, { timeout: 20_000, cwd: this.context.extensionPath });
      if (ended.code === 0 && suitsInterlock(ended.stdout)) return one;
    }
    return undefined;
  }
}

function folders(): string[] {
  return (vscode.workspace.workspaceFolders ?? []).filter((one) => one.uri.scheme === "file").map((one) => one.uri.fsPath);
}
