import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Part, partOf, partOfLine } from './cpu-parts.ts';

interface Node {
  id: number;
  callFrame: { functionName: string; url: string; lineNumber: number };
  hitCount: number;
  children?: number[];
  /** Lines count from 1. */
  positionTicks?: { line: number; ticks: number }[];
}

export interface CpuShares {
  /** Share of the main thread's time that was not idle. */
  parts: { part: Part; share: number }[];
  functions: { name: string; part: Part; share: number }[];
}

const ROOT = resolve(import.meta.dirname, '..');
const TOP = 15;

export const sharesIn = (folder: string): CpuShares => {
  const [file] = readdirSync(folder).filter((name) => name.endsWith('.cpuprofile'));
  if (!file) throw new Error(`there is no profile in ${folder}`);
  const { nodes }: { nodes: Node[] } = JSON.parse(readFileSync(join(folder, file), 'utf8'));
  const parents = new Map(nodes.flatMap((node) => (node.children ?? []).map((child) => [child, node] as const)));
  const parts = new Map<Part, number>();
  const functions = new Map<string, { name: string; part: Part; ticks: number }>();
  let total = 0;
  for (const node of nodes) {
    if (node.callFrame.functionName === '(idle)') continue;
    const owner = ownerOf(node, parents);
    const name = nameOf(node, owner);
    for (const { part, ticks } of splitByLine(node, owner)) {
      total += ticks;
      parts.set(part, (parts.get(part) ?? 0) + ticks);
      const key = `${name} ${part}`;
      functions.set(key, { name, part, ticks: (functions.get(key)?.ticks ?? 0) + ticks });
    }
  }
  const largest = [...functions.values()].sort((a, b) => b.ticks - a.ticks).slice(0, TOP);
  return {
    parts: [...parts].sort(([, a], [, b]) => b - a).map(([part, ticks]) => ({ part, share: ticks / total })),
    functions: largest.map(({ name, part, ticks }) => ({ name, part, share: ticks / total })),
  };
};

/** Native functions have no source file and count for their caller. */
const ownerOf = (node: Node, parents: Map<number, Node>): Node => {
  const parent = parents.get(node.id);
  return node.callFrame.url === '' && parent ? ownerOf(parent, parents) : node;
};

/** SQLite and JSON have no frames of their own; only the sampled line identifies them. */
const splitByLine = (node: Node, owner: Node): { part: Part; ticks: number }[] => {
  const part = partOf(node.callFrame.functionName, owner.callFrame.url);
  if (node !== owner || !node.callFrame.url.startsWith('file:')) return [{ part, ticks: node.hitCount }];
  const lines = sourceOf(node.callFrame.url);
  return (node.positionTicks ?? []).map(({ line, ticks }) => ({
    part: partOfLine(lines[line - 1] ?? '', part),
    ticks,
  }));
};

const sources = new Map<string, string[]>();
const sourceOf = (url: string): string[] => {
  const lines = sources.get(url) ?? readFileSync(fileURLToPath(url), 'utf8').split('\n');
  sources.set(url, lines);
  return lines;
};

const nameOf = (node: Node, owner: Node): string => {
  const { functionName, url, lineNumber } = node.callFrame;
  if (url === '') return owner.callFrame.url === '' ? functionName : `${functionName} < ${placeOf(owner)}`;
  return `${functionName || `(line ${lineNumber + 1})`} ${placeOf(node)}`;
};

const placeOf = ({ callFrame: { url } }: Node): string =>
  url.startsWith('file:') ? relative(ROOT, fileURLToPath(url)) : url;
