import type { Route } from '../shared/http/route.ts';
import { routes } from '../shared/http/routes/routes.ts';
import { filled, placesOf, SHAPES } from './hostile-bodies.ts';
import { opened } from './opened.ts';

export interface Stall {
  route: string;
  limit: number;
  /** The longest work without a turn of the event loop, over all bodies. */
  stallMs: number;
  parseMs: number;
  ratio: number;
  shape: string;
  at: string;
}

/** The fastest of three runs excludes other load of the machine. */
const TIMES = 3;
const LARGER_THAN_ANY_BYTES = 8 * 1024 * 1024;
/** Shorter stalls are not compared. */
const NOTICED_MS = 2;

type Answer = Awaited<ReturnType<typeof opened>>['handle'];

export const measureStalls = async (): Promise<Stall[]> => {
  const { handle, call, close } = await opened();
  try {
    await call('PUT', '/v1/agents/asker', {
      dialect: 'round-table',
      capabilities: ['security.briefing', 'parse_recipe'],
    });
    const stalls: Stall[] = [];
    for (const route of routes.filter(({ method }) => method === 'POST' || method === 'PUT')) {
      stalls.push(...(await worstOf(handle, route)));
    }
    return stalls;
  } finally {
    await close();
  }
};

const worstOf = async (handle: Answer, route: Route): Promise<Stall[]> => {
  const path = route.path.replace(/\{\w+\}/g, 'x');
  const limit = await limitOf(handle, route.method, path);
  const found: Stall[] = [];
  for (const { carrier, shapes } of placesOf(route)) {
    for (const shape of shapes) {
      const body = filled(carrier, SHAPES[shape] ?? String, limit);
      const bytes = Buffer.from(body);
      let stallMs = Infinity;
      let parseMs = Infinity;
      for (let time = 0; time < TIMES; time++) {
        parseMs = Math.min(parseMs, parsingOf(body));
        stallMs = Math.min(stallMs, await stallOf(() => handle(route.method, path, bytes)));
      }
      const at = carrier.length > 60 ? `${carrier.slice(0, 57)}…` : carrier;
      found.push({
        route: `${route.method} ${route.path}`,
        limit,
        stallMs,
        parseMs,
        ratio: stallMs / parseMs,
        shape,
        at,
      });
    }
  }
  const noticed = found.filter(({ stallMs }) => stallMs >= NOTICED_MS);
  const longest = found.toSorted((a, b) => b.stallMs - a.stallMs)[0];
  const dearest = noticed.toSorted((a, b) => b.ratio - a.ratio)[0];
  return [...new Set([longest, dearest])].filter((one) => one !== undefined);
};

const limitOf = async (handle: Answer, method: string, path: string): Promise<number> => {
  const { body } = await handle(method, path, Buffer.alloc(LARGER_THAN_ANY_BYTES, ' '));
  return Number(JSON.parse(String(body)).limit);
};

/** CPU time of this thread, independent of other load. */
const workedMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};

const parsingOf = (text: string): number => {
  const begun = workedMs();
  JSON.parse(text);
  return workedMs() - begun;
};

const stallOf = async (request: () => Promise<unknown>): Promise<number> => {
  let longest = 0;
  let last = workedMs();
  let isOver = false;
  const look = (): void => {
    const now = workedMs();
    longest = Math.max(longest, now - last);
    last = now;
    if (!isOver) setImmediate(look);
  };
  setImmediate(look);
  await request();
  isOver = true;
  look();
  return longest;
};
