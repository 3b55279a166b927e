/** The graph as the server gives it, and what the editor asks of it: places, nodes, marks. Pure. */

export interface GraphEdge {
  from: string;
  /** null: the end of the list. */
  to: string | null;
  kind: "then" | "loop" | "jump";
  label?: string;
}

export interface GraphLane {
  name: string;
  x: number;
  y: number;
  width: number;
  height: number;
  nodes: GraphNode[];
  edges: GraphEdge[];
}

export interface GraphNode {
  path: string;
  id: string;
  kind: string;
  shape: string;
  detail: string;
  when: string;
  marks: string[];
  lease: string;
  held_to_the_end: boolean;
  line: number;
  column: number;
  /** Counted in code points of the text. */
  offset: number;
  end_offset: number;
  x: number;
  y: number;
  width: number;
  height: number;
  lanes: GraphLane[];
}

export interface Graph {
  version: number;
  workflow: string;
  file: string;
  line: number;
  admission: string;
  intervals: Record<string, string>;
  width: number;
  height: number;
  lanes: GraphLane[];
}

/** Every node, those inside after the one around them, in the order of the text. */
export function nodesOf(graph: Graph): GraphNode[] {
  const found: GraphNode[] = [];
  const lanes = (given: readonly GraphLane[]): void => {
    for (const lane of given)
      for (const node of lane.nodes) {
        found.push(node);
        lanes(node.lanes);
      }
  };
  lanes(graph.lanes);
  return found;
}

/** A node's stretch of the text, in UTF-16 units as the editor counts. */
export interface Stretch {
  path: string;
  start: number;
  end: number;
}

/** Where the nodes stand in the text. */
export function stretches(graph: Graph, text: string): Stretch[] {
  const nodes = nodesOf(graph);
  const units = toUnits(text, nodes.flatMap((node) => [node.offset, node.end_offset]));
  return nodes.map((node) => ({
    path: node.path, start: units.get(node.offset) ?? 0, end: units.get(node.end_offset) ?? text.length,
  }));
}

/** Offsets in code points as offsets in UTF-16 units. */
export function toUnits(text: string, offsets: readonly number[]): Map<number, number> {
  const found = new Map<number, number>();
  let unit = 0;
  let point = 0;
  for (const offset of [...new Set(offsets)].sort((a, b) => a - b)) {
    while (point < offset && unit < text.length) {
      unit += (text.codePointAt(unit) ?? 0) > 0xffff ? 2 : 1;
      point += 1;
    }
    found.set(offset, unit);
  }
  return found;
}

/** The innermost node around a place; undefined outside of all steps. */
export function nodeAt(places: readonly Stretch[], unit: number): string | undefined {
  let found: Stretch | undefined;
  for (const place of places)
    if (place.start <= unit && unit <= place.end && (found === undefined || place.start >= found.start)) found = place;
  return found?.path;
}

export type Severity = "error" | "warning" | "hint";

export interface Finding {
  start: number;
  severity: Severity;
  message: string;
}

export interface Mark {
  severity: Severity;
  messages: string[];
}

const RANK: Severity[] = ["error", "warning", "hint"];

/** The name under which `marksOf` gives what is wrong in a workflow outside of its steps. */
export const HEAD = "";

/**
 * What is wrong at each node: at the innermost one that a finding stands in. What stands outside of all steps
 * but inside of the workflow's `bounds` is the head's.
 */
export function marksOf(places: readonly Stretch[], findings: readonly Finding[], bounds: Bounds): Record<string, Mark> {
  const found: Record<string, Mark> = {};
  for (const finding of findings) {
    const path = nodeAt(places, finding.start) ?? (bounds.start <= finding.start && finding.start < bounds.end ? HEAD : undefined);
    if (path === undefined) continue;
    const mark = (found[path] ??= { severity: finding.severity, messages: [] });
    mark.messages.push(finding.message);
    if (RANK.indexOf(finding.severity) < RANK.indexOf(mark.severity)) mark.severity = finding.severity;
  }
  return found;
}

export interface Bounds {
  start: number;
  end: number;
}

/** The document of a file of several that a line (from 1) stands in, in UTF-16 units. */
export function documentAround(text: string, line: number): Bounds {
  const bounds = { start: 0, end: text.length + 1 };
  let at = 0;
  for (const [place, row] of text.split("\n").entries()) {
    if (/^---(\s|$)/.test(row)) {
      if (place + 1 > line) return { ...bounds, end: at };
      bounds.start = at;
    }
    at += row.length + 1;
  }
  return bounds;
}

/** Which of a file's workflows a place belongs to: the last that begins at or before its line. */
export function workflowAt<T extends { range: { start: { line: number } } }>(
  workflows: readonly T[], line: number,
): T | undefined {
  return workflows.findLast((one) => one.range.start.line <= line) ?? workflows[0];
}
