/**
 * The lines of the view, which stay the same objects from one reading to the next: the editor draws again only
 * what has changed, so that nobody clicks on a line that goes away under the pointer. Pure.
 */
import type { Place } from "../program/commandline.ts";
import type { Item } from "./model.ts";

export interface Line {
  place: Place;
  item: Item;
  /** The lines inside; undefined where there are none, and in a run whose steps nobody has looked at. */
  children: Line[] | undefined;
}

/** An item with the store that it is of. */
export interface Placed {
  place: Place;
  item: Item;
}

/** A name that no other line of the view has. */
export const keyOf = ({ place, item }: Placed): string => `${place.cwd}|${item.id}`;

const words = ({ children: _, ...own }: Item): string => JSON.stringify(own);

/**
 * The lines for what was read now, made of those that were there. `changed` gets the lines that have to be drawn
 * again, with all inside them; the answer also says whether the list itself is another one.
 */
export function renewed(before: readonly Line[], read: readonly Placed[], changed: Line[]): { lines: Line[]; another: boolean } {
  const known = new Map(before.map((line) => [keyOf(line), line]));
  const lines = read.map((placed): Line => {
    const line = known.get(keyOf(placed));
    if (line === undefined) return fresh(placed);
    const own = words(line.item) !== words(placed.item);
    Object.assign(line, placed);
    if (placed.item.lazy === true) {
      if (own) changed.push(line);
      return line;
    }
    const inside: Line[] = [];
    const another = renewInside(line, placed.item.children, inside);
    // What is drawn with the line around it needs not be named.
    if (own || another) changed.push(line);
    else changed.push(...inside);
    return line;
  });
  return { lines, another: lines.length !== before.length || lines.some((line, at) => line !== before[at]) };
}

/** Takes in what stands inside of a line now; whether its list is another one. */
export function renewInside(line: Line, items: readonly Item[] | undefined, changed: Line[]): boolean {
  const { lines, another } = renewed(line.children ?? [], (items ?? []).map((item) => ({ place: line.place, item })), changed);
  line.children = items === undefined ? undefined : lines;
  return another;
}

function fresh({ place, item }: Placed): Line {
  return { place, item, children: item.children?.map((one) => fresh({ place, item: one })) };
}

/** All lines, also those inside of others. */
export function everyLine(lines: readonly Line[]): Line[] {
  return lines.flatMap((line) => [line, ...everyLine(line.children ?? [])]);
}
