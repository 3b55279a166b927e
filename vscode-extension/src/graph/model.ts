/** The graph as the server gives it, and what the editor asks of it: places, nodes, marks. Pure. */

/** A place in the text as the editor and the protocol count: from 0, in UTF-16 units. */
export interface Position {
  line: number;
  character: number;
}

export interface Range {
  start: Position;
  end: Position;
}

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
  /** What stands under its name, the first line in the type of code. */
  lines: string[];
  lease: string;
  held_to_the_end: boolean;
  /** Counted from 1. */
  line: number;
  range: Range;
  x: number;
  y: number;
  width: number;
  height: number;
  lanes: GraphLane[];
}

export interface Graph {
  workflow: string;
  file: string;
  /** Where the YAML document stands that the workflow is. */
  range: Range;
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

const upTo = (one: Position, other: Position): boolean =>
  one.line < other.line || (one.line === other.line && one.character <= other.character);

const around = ({ start, end }: Range, place: Position): boolean => upTo(start, place) && upTo(place, end);

/** The innermost node around a place; undefined outside of all steps. */
export function nodeAt(nodes: readonly GraphNode[], place: Position): string | undefined {
  let found: GraphNode | undefined;
  for (const node of nodes)
    if (around(node.range, place) && (found === undefined || upTo(found.range.start, node.range.start))) found = node;
  return found?.path;
}

export type Severity = "error" | "warning" | "hint";

export interface Finding {
  start: Position;
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
 * but inside of the workflow's document is the head's.
 */
export function marksOf(nodes: readonly GraphNode[], findings: readonly Finding[], document: Range): Record<string, Mark> {
  const found: Record<string, Mark> = {};
  for (const finding of findings) {
    const path = nodeAt(nodes, finding.start) ?? (around(document, finding.start) ? HEAD : undefined);
    if (path === undefined) continue;
    const mark = (found[path] ??= { severity: finding.severity, messages: [] });
    mark.messages.push(finding.message);
    if (RANK.indexOf(finding.severity) < RANK.indexOf(mark.severity)) mark.severity = finding.severity;
  }
  return found;
}

/** Which of a file's workflows a line belongs to: the one in whose document it stands. */
export function workflowAt<T extends { document: Range }>(workflows: readonly T[], line: number): T | undefined {
  return workflows.findLast((one) => one.document.start.line <= line) ?? workflows[0];
}
