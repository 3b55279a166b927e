/** The view of runs, leases and queues: reads them when something happened, and only while it is seen. */
import * as vscode from "vscode";
import { placeOf, say, type Desk } from "../runs/desk.ts";
import { everyLine, keyOf, renewed, renewInside, type Line, type Placed } from "./lines.ts";
import { storeFile, type Item } from "./model.ts";
import { Store } from "./store.ts";

const PAUSE = 400;

export class Runs implements vscode.TreeDataProvider<Line>, vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<Line[] | undefined>();
  readonly onDidChangeTreeData = this.#changed.event;
  readonly #view: vscode.TreeView<Line>;
  readonly #rest: vscode.Disposable[] = [];
  #stores: Store[] = [];
  #watchers: vscode.Disposable[] = [];
  #lines: Line[] = [];
  /** The runs whose steps are shown, with those that were closed again. */
  readonly #opened = new Set<Line>();
  readonly #closed = new Set<Line>();
  #timer: NodeJS.Timeout | undefined;
  #reading: Promise<void> | undefined;
  #read = false;
  #again = false;

  constructor(private readonly desk: Desk) {
    this.#view = vscode.window.createTreeView("interlock.runs", { treeDataProvider: this, showCollapseAll: true });
    this.#rest.push(
      this.#view,
      this.#view.onDidChangeVisibility(() => (this.#view.visible ? this.refresh() : this.#stores.forEach((one) => one.stop()))),
      this.#view.onDidCollapseElement(({ element }) => void this.#closed.add(element)),
      this.#view.onDidExpandElement(({ element }) => void this.#closed.delete(element)),
      vscode.workspace.onDidChangeWorkspaceFolders(() => this.#begin()),
      vscode.workspace.onDidChangeConfiguration((change) => {
        if (["interlock.store", "interlock.account"].some((name) => change.affectsConfiguration(name))) this.#begin();
      }),
    );
    this.#begin();
  }

  dispose(): void {
    clearTimeout(this.#timer);
    for (const store of this.#stores) store.stop();
    vscode.Disposable.from(...this.#rest, ...this.#watchers, this.#changed).dispose();
  }

  /** Takes the stores that the settings name. Those that are not there yet are waited for. */
  #begin(): void {
    for (const store of this.#stores) store.stop();
    vscode.Disposable.from(...this.#watchers).dispose();
    const soon = (): void => this.refresh(PAUSE);
    const folders = vscode.workspace.workspaceFolders ?? [];
    this.#stores = folders.map((one) => placeOf(one.uri)).filter((one) => one !== undefined).map((place) => new Store(this.desk, place, soon));
    this.#watchers = folders.flatMap((folder) => {
      const file = storeFile(placeOf(folder.uri)?.store ?? "");
      if (file === undefined) return [];
      const watcher = vscode.workspace.createFileSystemWatcher(new vscode.RelativePattern(folder, file), false, true, false);
      return [watcher, watcher.onDidCreate(soon), watcher.onDidDelete(soon)];
    });
    this.#lines = [];
    this.#opened.clear();
    this.#read = false;
    this.#changed.fire(undefined);
    this.refresh();
  }

  /** Reads everything again, soon; what comes close together is one reading. */
  refresh(pause = 0): void {
    if (this.#reading !== undefined) this.#again = true; // a reading takes several programs: one after the other
    else if (this.#view.visible) this.#timer ??= setTimeout(() => void this.#update(), pause);
  }

  #update(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#reading ??= this.#renew().finally(() => {
      this.#reading = undefined;
      if (!this.#again) return;
      this.#again = false;
      this.refresh(PAUSE);
    });
    return this.#reading;
  }

  async #renew(): Promise<void> {
    try {
      const changed: Line[] = [];
      const { lines, another } = renewed(this.#lines, this.desk.ready ? await this.#top() : [], changed);
      this.#lines = lines;
      const all = new Set(everyLine(lines));
      for (const line of [...this.#opened, ...this.#closed])
        if (!all.has(line)) for (const set of [this.#opened, this.#closed]) set.delete(line);
      this.#view.message = "";
      if (another) this.#changed.fire(undefined);
      else if (changed.length > 0) this.#changed.fire(changed);
    } catch (error) {
      this.#view.message = error instanceof Error ? error.message : String(error);
    }
    this.#read = true;
  }

  /** What there is in the stores now; the steps that are shown are read here too, where they may be others. */
  async #top(): Promise<Placed[]> {
    const found = await Promise.all(
      this.#stores.map(async (store) => {
        const { items, touched } = await store.read();
        await this.#steps(store, touched);
        return { place: store.place, items };
      }),
    );
    const filled = found.filter(({ items }) => items.length > 0);
    await vscode.commands.executeCommand("setContext", "interlock.storeEmpty", filled.length === 0);
    if (found.length <= 1) return filled.flatMap(({ place, items }) => items.map((item) => ({ place, item })));
    return filled.map(({ place, items }) => ({ place, item: folder(place.cwd, items) }));
  }

  async #steps(store: Store, touched: ReadonlySet<string> | undefined): Promise<void> {
    const changed: Line[] = [];
    for (const line of this.#opened) {
      if (line.place !== store.place || touched?.has(line.item.run ?? "") === false) continue;
      if (this.#closed.has(line)) {
        this.#opened.delete(line); // the editor asks again once it is opened
        line.children = undefined;
        changed.push(line);
      } else if (renewInside(line, await this.#stepsOf(store, line), changed)) changed.push(line);
    }
    if (changed.length > 0) this.#changed.fire(changed);
  }

  #stepsOf(store: Store, { item }: Line): Promise<Item[]> {
    return store.steps(item.run ?? "", item.workflow ?? "");
  }

  getTreeItem(line: Line): vscode.TreeItem {
    const { Collapsed, Expanded, None } = vscode.TreeItemCollapsibleState;
    const { item } = line;
    const inner = item.lazy === true || item.children !== undefined;
    const shown = new vscode.TreeItem(item.label, !inner ? None : item.expanded ? Expanded : Collapsed);
    shown.id = keyOf(line);
    shown.description = item.description;
    shown.tooltip = item.tooltip;
    shown.contextValue = item.context;
    shown.iconPath = new vscode.ThemeIcon(item.icon, item.colour === undefined ? undefined : new vscode.ThemeColor(item.colour));
    shown.accessibilityInformation = { label: `${item.label}, ${item.description}` };
    return shown;
  }

  async getChildren(line?: Line): Promise<Line[]> {
    if (line === undefined) {
      if (!this.#read) await this.#update();
      return this.#lines;
    }
    const store = this.#stores.find((one) => one.place === line.place);
    if (line.item.lazy === true && store !== undefined && !this.#opened.has(line)) {
      this.#opened.add(line);
      try {
        const steps = await this.#stepsOf(store, line);
        if (line.children === undefined) renewInside(line, steps, []); // else they were read again meanwhile
      } catch (error) {
        this.#opened.delete(line);
        say(error);
      }
    }
    return line.children ?? [];
  }
}

function folder(path: string, children: Item[]): Item {
  return {
    id: "folder", label: path.split(/[\\/]/).at(-1) ?? path, description: "", tooltip: path, icon: "folder", context: "folder", children,
    expanded: true,
  };
}
