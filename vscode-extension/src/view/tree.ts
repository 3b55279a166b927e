/** The view of runs, leases and queues: reads them when something happened, and only while it is seen. */
import * as vscode from "vscode";
import * as commands from "../program/commandline.ts";
import type { Place } from "../program/commandline.ts";
import type { Stream } from "../program/process.ts";
import { placeOf, say, type Desk } from "../runs/desk.ts";
import { parseEvent, parseEvents, Progress, type Asks } from "../runs/events.ts";
import { asksOfPositions, groups, stepItems, storeFile, type Item, type LeaseRow, type PositionRow, type QueueRow, type RunRow } from "./model.ts";

export interface Line extends Item {
  place: Place;
}

/** How many runs are shown, and how many waiting ones are asked what they wait for. */
const MOST = 100;
const ASKED = 20;
const PAUSE = 400;

export class Runs implements vscode.TreeDataProvider<Line>, vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.#changed.event;
  readonly #view: vscode.TreeView<Line>;
  readonly #rest: vscode.Disposable[] = [];
  readonly #following = new Map<string, Stream>();
  #timer: NodeJS.Timeout | undefined;
  #reading = false;
  #again = false;
  #stores: vscode.Disposable[] = [];

  constructor(private readonly desk: Desk) {
    this.#view = vscode.window.createTreeView("interlock.runs", { treeDataProvider: this, showCollapseAll: true });
    this.#rest.push(this.#view, this.#view.onDidChangeVisibility(() => (this.#view.visible ? this.refresh() : this.#unfollow())));
    this.#rest.push(
      vscode.workspace.onDidChangeWorkspaceFolders(() => this.#await()),
      vscode.workspace.onDidChangeConfiguration((change) => change.affectsConfiguration("interlock") && this.#await()),
    );
    this.#await();
  }

  dispose(): void {
    clearTimeout(this.#timer);
    this.#unfollow();
    vscode.Disposable.from(...this.#rest, ...this.#stores, this.#changed).dispose();
  }

  /** Waits for stores that are not there yet; those that are there tell by their events. */
  #await(): void {
    vscode.Disposable.from(...this.#stores).dispose();
    this.#stores = (vscode.workspace.workspaceFolders ?? []).flatMap((folder) => {
      const file = storeFile(placeOf(folder.uri)?.store ?? "");
      if (file === undefined) return [];
      const watcher = vscode.workspace.createFileSystemWatcher(new vscode.RelativePattern(folder, file), false, true, false);
      return [watcher, watcher.onDidCreate(() => this.refresh(PAUSE)), watcher.onDidDelete(() => this.refresh(PAUSE))];
    });
    this.#unfollow(); // of stores that the settings do not name any more
    this.refresh();
  }

  /** Reads everything again, soon; what comes close together is one reading. */
  refresh(pause = 0): void {
    if (this.#reading) this.#again = true; // a reading takes several programs: one after the other
    if (this.#timer !== undefined || this.#reading) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (this.#view.visible) this.#changed.fire();
    }, pause);
  }

  #unfollow(): void {
    for (const stream of this.#following.values()) stream.stop();
    this.#following.clear();
  }

  getTreeItem(line: Line): vscode.TreeItem {
    const { Collapsed, Expanded, None } = vscode.TreeItemCollapsibleState;
    const inner = line.lazy === true || line.children !== undefined;
    const item = new vscode.TreeItem(line.label, !inner ? None : line.expanded ? Expanded : Collapsed);
    item.id = `${line.place.cwd}|${line.id}`;
    item.description = line.description;
    item.tooltip = line.tooltip;
    item.contextValue = line.context;
    item.iconPath = new vscode.ThemeIcon(line.icon, line.colour === undefined ? undefined : new vscode.ThemeColor(line.colour));
    item.accessibilityInformation = { label: `${line.label}, ${line.description}` };
    return item;
  }

  async getChildren(line?: Line): Promise<Line[]> {
    if (!this.desk.ready) return [];
    try {
      if (line === undefined) return await this.#read();
      if (line.children !== undefined) return line.children.map((one) => ({ ...one, place: line.place }));
      return line.lazy && line.run !== undefined ? await this.#steps(line.place, line.run, line.workflow ?? "") : [];
    } catch (error) {
      say(error);
      return [];
    }
  }

  async #read(): Promise<Line[]> {
    this.#reading = true;
    this.#again = false;
    try {
      return await this.#top();
    } finally {
      this.#reading = false;
      if (this.#again) this.refresh(PAUSE);
    }
  }

  async #top(): Promise<Line[]> {
    const places = (vscode.workspace.workspaceFolders ?? []).map((one) => placeOf(one.uri)).filter((one) => one !== undefined);
    const found = await Promise.all(places.map(async (place) => ({ place, items: await this.#groups(place) })));
    const filled = found.filter(({ items }) => items.length > 0);
    await vscode.commands.executeCommand("setContext", "interlock.storeEmpty", filled.length === 0);
    if (places.length <= 1) return filled.flatMap(({ place, items }) => items.map((one) => ({ ...one, place })));
    return filled.map(({ place, items }) => ({
      place, id: "folder", label: place.cwd.split(/[\\/]/).at(-1) ?? place.cwd, description: "", tooltip: place.cwd,
      icon: "folder", context: "folder", children: items, expanded: true,
    }));
  }

  async #groups(place: Place): Promise<Item[]> {
    const runs = await this.desk.read<RunRow[]>(place, commands.runs(place, MOST));
    if (runs === undefined) return [];
    void this.#follow(place, runs[0]?.run);
    const leases = (await this.desk.read<LeaseRow[]>(place, commands.leases(place))) ?? [];
    const queues = (await this.desk.read<QueueRow[]>(place, commands.queue(place))) ?? [];
    const asks = new Map<string, Asks[]>();
    for (const row of runs.filter((one) => one.status === "waiting_for_signal" || one.status === "held_for_review").slice(0, ASKED)) {
      const status = await this.desk.read<{ status: string; positions: PositionRow[] }>(place, commands.status(place, row.run));
      if (status !== undefined) asks.set(row.run, asksOfPositions(status.status, status.positions));
    }
    return groups(runs, leases, queues, asks, Date.now() / 1000);
  }

  async #steps(place: Place, run: string, workflow: string): Promise<Line[]> {
    const ended = await this.desk.perform(place, commands.events(place, run));
    const progress = new Progress();
    for (const event of parseEvents(ended.stdout)) progress.apply(event);
    const status = await this.desk.read<{ positions: PositionRow[] }>(place, commands.status(place, run));
    return stepItems(run, workflow, [...progress.steps.values()], status?.positions ?? []).map((one) => ({ ...one, place }));
  }

  /** Follows what happens in a store, from the beginning of its newest run on. */
  async #follow(place: Place, newest: string | undefined): Promise<void> {
    const key = `${place.cwd}|${place.store}`;
    if (this.#following.has(key) || newest === undefined) return;
    const stopped: Stream = { ended: Promise.resolve(undefined), stop: () => undefined };
    this.#following.set(key, stopped); // nobody else begins meanwhile
    const known = parseEvents((await this.desk.perform(place, commands.events(place, newest))).stdout).at(-1)?.seq ?? 0;
    if (this.#following.get(key) !== stopped || !this.#view.visible) return;
    const stream = this.desk.stream(place, commands.followAll(place, known), (line) => {
      if (parseEvent(line) !== undefined) this.refresh(PAUSE);
    });
    this.#following.set(key, stream);
    void stream.ended.then(() => {
      if (this.#following.get(key) === stream) this.#following.delete(key);
    });
  }
}
