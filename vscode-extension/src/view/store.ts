/** One store as the view reads it: by the command line, again when its events say that something happened. */
import * as commands from "../program/commandline.ts";
import type { Place } from "../program/commandline.ts";
import type { Stream } from "../program/process.ts";
import type { Desk } from "../runs/desk.ts";
import { parseEvent, parseEvents, Progress, type Asks } from "../runs/events.ts";
import { asksOfPositions, groups, stepItems, type Item, type LeaseRow, type PositionRow, type QueueRow, type RunRow } from "./model.ts";

/** How many runs are shown, and how many waiting ones are asked what they wait for. */
const MOST = 100;
const ASKED = 20;

const ASKING = ["waiting_for_signal", "held_for_review"];

export class Store {
  #stream: Stream | undefined;
  #stops = 0;
  readonly #asks = new Map<string, Asks[]>();
  /** The runs in which something happened since they were read. */
  #touched = new Set<string>();

  constructor(
    private readonly desk: Desk,
    readonly place: Place,
    private readonly happened: () => void,
  ) {}

  /** Stops following the store: what is known of it is read anew after that. */
  stop(): void {
    this.#stops += 1;
    this.#stream?.stop();
    this.#stream = undefined;
  }

  /**
   * What there is now, and the runs in which something has happened since the reading before; undefined for the
   * latter where that is not known. Nothing where there is no store.
   */
  async read(): Promise<{ items: Item[]; touched: ReadonlySet<string> | undefined }> {
    const followed = this.#stream !== undefined;
    // Followed first and read then: what happens between the two is read at worst twice.
    if (!followed && !(await this.#follow())) return { items: [], touched: undefined };
    const touched = this.#touched;
    this.#touched = new Set();
    const runs = await this.desk.read<RunRow[]>(this.place, commands.runs(this.place, MOST));
    if (runs === undefined) {
      this.stop();
      return { items: [], touched: undefined };
    }
    const leases = (await this.desk.read<LeaseRow[]>(this.place, commands.leases(this.place))) ?? [];
    const queues = (await this.desk.read<QueueRow[]>(this.place, commands.queue(this.place))) ?? [];
    const asks = await this.#questions(runs, touched);
    return { items: groups(runs, leases, queues, asks), touched: followed ? touched : undefined };
  }

  /** The steps of a run as far as it has come. */
  async steps(run: string, workflow: string): Promise<Item[]> {
    const events = await this.desk.succeed(this.place, commands.events(this.place, run));
    const progress = new Progress();
    for (const event of parseEvents(events)) progress.apply(event);
    const status = await this.desk.read<{ positions: PositionRow[] }>(this.place, commands.status(this.place, run));
    return stepItems(run, workflow, [...progress.steps.values()], status?.positions ?? []);
  }

  /** What the runs that wait ask of a person; a run in which nothing has happened still asks the same. */
  async #questions(runs: readonly RunRow[], touched: ReadonlySet<string>): Promise<Map<string, Asks[]>> {
    const waiting = runs.filter((one) => ASKING.includes(one.status)).slice(0, ASKED).map((one) => one.run);
    for (const run of [...this.#asks.keys()]) if (touched.has(run) || !waiting.includes(run)) this.#asks.delete(run);
    for (const run of waiting) {
      if (this.#asks.has(run)) continue;
      const status = await this.desk.read<{ status: string; positions: PositionRow[] }>(this.place, commands.status(this.place, run));
      if (status !== undefined) this.#asks.set(run, asksOfPositions(status.status, status.positions));
    }
    return this.#asks;
  }

  /** Follows what happens from now on; whether there is a store. */
  async #follow(): Promise<boolean> {
    const stops = this.#stops;
    this.#asks.clear(); // nobody has looked at what happened meanwhile
    const newest = await this.desk.read<RunRow[]>(this.place, commands.runs(this.place, 1));
    if (newest === undefined) return false;
    // The events before belong to what is read anyway: it is enough to begin after the newest run's last one.
    const known = newest[0] && parseEvents(await this.desk.succeed(this.place, commands.events(this.place, newest[0].run))).at(-1);
    if (stops !== this.#stops) return true; // nobody wants to know any more
    const stream = this.desk.stream(this.place, commands.followAll(this.place, known?.seq ?? 0), (line) => {
      const event = parseEvent(line);
      if (event === undefined || this.#stream !== stream) return;
      this.#touched.add(event.run);
      this.happened();
    });
    this.#stream = stream;
    void stream.ended.then(() => {
      if (this.#stream === stream) this.stop(); // the store was removed, or its program killed
    });
    return true;
  }
}
