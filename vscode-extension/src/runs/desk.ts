/** Where runs are stored, and the command line asked about them. */
import * as vscode from "vscode";
import type { Allowance, Command, Place } from "../program/commandline.ts";
import type { Keeper } from "../program/keeper.ts";
import { complaint, perform, stream, type Ended, type Stream } from "../program/process.ts";

/** A refusal of the command line, in its own words. */
export class Refused extends Error {}

/** Where the runs of a file are kept; without a file those of a folder, or of the first one. */
export function placeOf(uri: vscode.Uri | undefined): Place | undefined {
  const folder = (uri && vscode.workspace.getWorkspaceFolder(uri)) ?? (uri ? undefined : vscode.workspace.workspaceFolders?.[0]);
  const cwd = folder?.uri ?? (uri?.scheme === "file" ? vscode.Uri.joinPath(uri, "..") : undefined);
  if (cwd === undefined || cwd.scheme !== "file") return undefined;
  const settings = vscode.workspace.getConfiguration("interlock", folder?.uri ?? uri);
  return {
    cwd: cwd.fsPath,
    store: settings.get("store", "sqlite:///.interlock/state.db"),
    account: settings.get("account", "default"),
  };
}

export function allowanceOf(place: Place): Allowance {
  const settings = vscode.workspace.getConfiguration("interlock", vscode.Uri.file(place.cwd));
  return { blocks: settings.get<string[]>("run.blocks", []), allow: settings.get<string[]>("run.allow", []) };
}

/** The command line, for those that the workspace is trusted by. */
export class Desk {
  constructor(
    private readonly keeper: Keeper,
    private readonly log: vscode.OutputChannel,
  ) {}

  get ready(): boolean {
    return vscode.workspace.isTrusted && this.keeper.program !== undefined;
  }

  #program(): string {
    if (!vscode.workspace.isTrusted) throw new Refused("Nothing is executed until you trust this workspace.");
    const program = this.keeper.program;
    if (program === undefined) throw new Refused("The program interlock was not found.");
    return program.path;
  }

  /** Runs a command to its end, whatever that is. */
  async perform(place: Place, command: Command, env?: Record<string, string>): Promise<Ended> {
    const ended = await perform(this.#program(), command, { cwd: place.cwd, env });
    if (ended.code !== 0) this.log.appendLine(`interlock ${command.args[0]}: ${ended.stderr.trim() || `code ${ended.code}`}`);
    return ended;
  }

  /** Runs a command that has to succeed; `Refused` says why it did not. */
  async succeed(place: Place, command: Command): Promise<string> {
    const ended = await this.perform(place, command);
    if (ended.code !== 0) throw new Refused(complaint(ended));
    return ended.stdout;
  }

  /** The JSON that a reading command gives; undefined where there is no store yet. */
  async read<T>(place: Place, command: Command): Promise<T | undefined> {
    const ended = await perform(this.#program(), command, { cwd: place.cwd });
    if (ended.code === 0) return JSON.parse(ended.stdout) as T;
    if (/There is no store/.test(ended.stderr)) return undefined;
    throw new Refused(complaint(ended));
  }

  stream(
    place: Place, command: Command, out: (line: string) => void, err?: (line: string) => void, env?: Record<string, string>,
  ): Stream {
    return stream(this.#program(), command, { cwd: place.cwd, env }, out, err);
  }
}

/** Shows what went wrong, as one sentence. */
export function say(error: unknown): void {
  void vscode.window.showErrorMessage(error instanceof Error ? error.message : String(error));
}
