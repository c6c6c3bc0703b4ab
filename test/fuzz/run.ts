import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { residentMb } from '../../bench/process-usage.ts';
import { ERROR_CODES } from '../../shared/kernel/error-codes.ts';
import { atEndOf, type Owner, type ServerProcess, startServer, tempDir } from '../support/server-process.ts';
import { speakers } from '../support/speakers.ts';
import type { Schema } from './generate.ts';
import { type Input, Inputs, type Target } from './inputs.ts';
import { type Answer, Wire } from './wire.ts';

export interface FuzzOptions {
  seed: number;
  from: number;
  inputs: number;
}

export interface Fuzzed {
  inputs: number;
  routes: number;
  statuses: Record<string, number>;
  /** Routes that never answered with success. */
  neverTaken: string[];
  violations: string[];
  healthz: { count: number; p50: number; p99: number; max: number; stalls: number; failures: number };
  memoryMb: { begin: number; half: number; end: number };
  handles: { begin: number; end: number };
}

const CONNECTIONS = 16;
/** A parser that waits for the rest of a request ends it after this. */
const ANSWER_MS = 70_000;
/** The answers of an overloaded server, as `docs/reference/error-codes.md` has them. */
const UNAVAILABLE = new Set(
  Object.entries(ERROR_CODES).flatMap(([code, { status }]) => (status === 503 ? [code] : [])),
);
const MOST_SHOWN = 20;
const UUIDS = ['550e8400-e29b-41d4-a716-446655440000', '660e8400-e29b-41d4-a716-446655440000'];

export const fuzz = async (owner: Owner, { seed, from, inputs }: FuzzOptions): Promise<Fuzzed> => {
  const server = await startServer(owner, { dir: tempDir(owner) });
  const target = await prepare(server);
  const maker = new Inputs(target, seed);
  const fuzzed: Fuzzed = {
    inputs: 0,
    routes: maker.routes.length,
    statuses: {},
    neverTaken: [],
    violations: [],
    healthz: { count: 0, p50: 0, p99: 0, max: 0, stalls: 0, failures: 0 },
    memoryMb: { begin: residentMb(server.pid), half: 0, end: 0 },
    handles: { begin: countHandles(server.pid), end: 0 },
  };
  const taken = new Set<string>();
  const prober = fork(join(import.meta.dirname, 'prober.ts'), [String(server.port)], { execArgv: [] });
  atEndOf(owner, () => prober.kill('SIGKILL'));
  let isOver = false;
  let next = from;
  const until = from + inputs;
  const work = async (): Promise<void> => {
    const wire = new Wire(server.port);
    while (next < until && fuzzed.violations.length < MOST_SHOWN) {
      const input = maker.make(next++);
      const answer = await answerTo(wire, input);
      fuzzed.inputs += 1;
      if (fuzzed.inputs === Math.floor(inputs / 2)) fuzzed.memoryMb.half = residentMb(server.pid);
      const status = typeof answer === 'object' ? String(answer.status) : (answer ?? 'closed');
      fuzzed.statuses[status] = (fuzzed.statuses[status] ?? 0) + 1;
      if (status.startsWith('2')) taken.add(input.what.replace(/ \(.*/, ''));
      const problem = judge(input, answer);
      if (problem) fuzzed.violations.push(describe(input, problem, seed));
    }
    wire.close();
  };
  await Promise.race([
    Promise.all(Array.from({ length: CONNECTIONS }, work)),
    server.exited.then(({ code, signal, stderr }) => {
      if (isOver) return;
      fuzzed.violations.push(`the server ended with ${code ?? signal} near input ${next}: ${stderr.slice(-2000)}`);
      next = until;
    }),
  ]);
  isOver = true;
  const told = once(prober, 'message');
  if (prober.connected) {
    prober.send('end');
    [fuzzed.healthz] = await told;
  }
  fuzzed.memoryMb.end = residentMb(server.pid);
  fuzzed.handles.end = countHandles(server.pid);
  fuzzed.neverTaken = maker.routes
    .map(({ method, path }) => `${method} ${path}`)
    .filter((route) => !taken.has(route))
    .sort();
  const { code } = await server.stop();
  if (code !== 0) fuzzed.violations.push(`the server ended with ${code} when it was told to stop`);
  fuzzed.violations.push(...findUnforeseen(server.stderr()));
  return fuzzed;
};

const countHandles = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length;

const answerTo = async (wire: Wire, input: Input): Promise<Answer | 'late' | undefined> => {
  const once = async (): Promise<Answer | 'late' | undefined> => {
    const timer = Promise.withResolvers<'late'>();
    const tooLong = setTimeout(() => timer.resolve('late'), ANSWER_MS);
    const answer = await Promise.race([wire.send(input.bytes, input), timer.promise]);
    clearTimeout(tooLong);
    if (answer === 'late') wire.close();
    return answer;
  };
  const answer = await once();
  // A connection that was kept open may have been closed at this moment.
  return answer === undefined && !input.isRaw ? once() : answer;
};

const judge = ({ isRaw, isHead }: Input, answer: Answer | 'late' | undefined): string | undefined => {
  if (answer === 'late') return `there was no answer within ${ANSWER_MS / 1000} s`;
  if (answer === undefined) return isRaw ? undefined : 'the connection ended without an answer';
  const { status, body } = answer;
  if (status < 400 || isHead) return status >= 500 ? `it was answered with ${status}` : undefined;
  const code = parseCode(body);
  if (code === undefined) return `it was answered with ${status} and no code: ${body.slice(0, 300)}`;
  const isDocumented = status < 500 || (status === 503 && UNAVAILABLE.has(code));
  return isDocumented ? undefined : `it was answered with ${status} ${code}: ${body.slice(0, 500)}`;
};

/** Of a problem, of JSON-RPC, or of A2A over HTTP. */
const parseCode = (body: string): string | undefined => {
  try {
    const { code, error } = JSON.parse(body);
    const found = code ?? error?.code;
    return found === undefined ? undefined : String(found);
  } catch {
    return undefined;
  }
};

const describe = ({ number, what, bytes }: Input, problem: string, seed: number): string =>
  `input ${number}, ${what}: ${problem}\n  ${JSON.stringify(bytes.toString('latin1').slice(0, 600))}\n  Again: npm run fuzz -- --seed ${seed} --from ${number} --inputs 1`;

/** What the server itself says of a request that it could not foresee. */
const UNFORESEEN = /"message":"(request failed|response aborted|change parked|change feed stopped)/;
const findUnforeseen = (stderr: string): string[] =>
  stderr
    .split('\n')
    .filter((line) => UNFORESEEN.test(line))
    .slice(0, MOST_SHOWN)
    .map((line) => `the server logged ${line.slice(0, 1500)}`);

/** Agents of every dialect, something of each kind, and what is known of it all. */
const prepare = async ({ admin, transport, adminKey }: ServerProcess): Promise<Target> => {
  const dialects: Record<string, Schema> = {};
  const keys: string[] = [];
  const ids = [
    ...UUIDS,
    'security.briefing',
    'security',
    'summarize',
    'default',
    'public',
    'doubles',
    'daily',
    '1',
    '0',
  ];
  for (const { dialect } of speakers) {
    const { status, body } = await transport('GET', `/schemas/${dialect}.json`, {}, undefined);
    if (status === 200) dialects[dialect] = body;
    const id = `of-${dialect}`;
    ids.push(id);
    const registration = { dialect, capabilities: dialect === 'common-ground' ? [] : ['security.briefing'] };
    const made = await admin.call('PUT', `/v1/agents/${id}`, registration);
    keys.push(made.body.key);
  }
  await admin.call('PUT', '/v1/agents/spare', { dialect: 'native', capabilities: [] });
  const requests = UUIDS.map((id) => ({ kind: 'request', id, from: 'of-native', capability: 'security.briefing' }));
  for (const request of requests) await admin.call('POST', '/v1/messages', request);
  const { body: document } = await transport('GET', '/openapi.json', {}, undefined);
  return { document, dialects, ids, keys, adminKey, spare: 'spare' };
};
