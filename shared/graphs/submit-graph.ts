import type { Caller } from '../agents/authenticate.ts';
import type { Deps } from '../deps.ts';
import { ParleyError } from '../errors.ts';
import { fingerprint } from '../json/fingerprint.ts';
import { sized } from '../json/size.ts';
import { type Flaw, flawsIn, refusalOf, type Seed, SOW_AGAIN_MS } from '../seeds/sow.ts';
import { discarded, kept } from '../tasks/content.ts';
import type { Trace } from '../trace.ts';
import { type Graph, type GraphNode, graphRef } from './graph.ts';
import { grown } from './grow-graph.ts';

/** For as long as its tasks are kept, and some time for them to run. */
const KEPT_MS = 30 * 86_400_000;

export interface NewGraph {
  id: string;
  from: string;
  conversation?: string;
  nodes: GraphNode[];
  /** A request for each node, each behind those that it waits for. */
  seeds: Seed[];
  /** What is wrong with the graph beside what is wrong with its requests. */
  flaws: Flaw[];
  trace: Trace;
}

/** Accepts the whole graph or nothing of it. Its tasks are made before this resolves or, should it die, a little later. */
export const submitGraph = async (
  deps: Deps,
  caller: Caller,
  { id, from, conversation, nodes, seeds, flaws, trace }: NewGraph,
): Promise<{ duplicate: boolean; graph: Graph }> => {
  const { project } = caller;
  const print = fingerprint([from, conversation, seeds]);
  const earlier = await deps.records.get(graphRef(project, id));
  if (earlier) return repeated(deps, earlier, print);
  const pathOf = ({ message }: Seed) => `nodes[${nodes.findIndex(({ taskId }) => taskId === message.id)}]`;
  const wrong = [...flaws, ...(await flawsIn(deps, caller, { from, trace }, seeds, pathOf))];
  if (wrong.length > 0) throw refusalOf('The graph', wrong);
  const content = await kept(deps, project, id, sized(seeds));
  const now = deps.clock.now();
  const made = await deps.records.create<Graph>(
    {
      ...graphRef(project, id),
      sk: 'graph',
      project,
      id,
      from,
      conversation,
      nodes,
      seeds: content,
      fingerprint: print,
      createdAt: now,
      ...trace,
      expires: now + KEPT_MS,
      due: now + SOW_AGAIN_MS,
    },
    deps.newId(),
  );
  if (made.outcome === 'written') return { duplicate: false, graph: await grown(deps, made.after) };
  await discarded(deps.blobs, [content], [made.current?.seeds]);
  if (!made.current) throw new ParleyError('conflict', `The graph ${id} is no longer kept. Try again.`);
  return repeated(deps, made.current, print);
};

const repeated = async (deps: Deps, graph: Graph, print: string): Promise<{ duplicate: boolean; graph: Graph }> => {
  if (graph.fingerprint === print) return { duplicate: true, graph: await grown(deps, graph) };
  throw new ParleyError(
    'id_reused',
    `An earlier graph with the id ${graph.id} had other content. Repeat a graph unchanged; give a new one a new id.`,
  );
};
