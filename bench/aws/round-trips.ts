import { setTimeout as pause } from 'node:timers/promises';
import { type Gateway, parseSigner } from '../../local/cloudformation-runner/index.ts';
import { placeOf } from './bill.ts';
import { CONTENTS } from './content.ts';
import { alone } from './lives.ts';
import { quiet } from './quiet.ts';
import { metered, type Site } from './site.ts';

interface Call {
  accessKey: string;
  operation: string;
  begun: number;
  ended: number;
}

export interface Step {
  /** Calls of one group run concurrently. */
  groups: string[][];
  writeUnits: Record<string, number>;
}

export type RoundTrips = Record<'request' | 'claim' | 'result' | 'read' | 'requestAfterAPause', Step>;

/** Longer than an authenticated key is cached. */
const PAUSE_MS = 6000;

export const roundTripsOf = async (site: Site): Promise<RoundTrips> => {
  const { running } = site;
  const keyOf = (name: string): string => running.createAccessKey(running.findFunctionName(name));
  const functions = [keyOf('ingest'), keyOf('claims'), keyOf('tasks')];
  const recorded = recordCalls(running.gateway);
  const life = async (): Promise<Step[]> => {
    const steps: Step[] = [];
    const { meter } = running.gateway;
    await metered(site, () =>
      alone(site, 1, CONTENTS.text, async () => {
        await quiet(site);
        const groups = groupsOf(recorded.taken().filter(({ accessKey }) => functions.includes(accessKey)));
        const written = meter.read().capacity.filter(({ kind }) => kind === 'write');
        const writeUnits = Object.fromEntries(written.map(({ resource, units }) => [placeOf(resource), units]));
        steps.push({ groups, writeUnits });
        meter.reset();
      }),
    );
    return steps;
  };
  await pause(PAUSE_MS);
  const [requestAfterAPause = NOTHING] = await life();
  const [request = NOTHING, claim = NOTHING, result = NOTHING, read = NOTHING] = await life();
  recorded.stop();
  return { request, requestAfterAPause, claim, result, read };
};

const NOTHING: Step = { groups: [], writeUnits: {} };

const recordCalls = (gateway: Gateway): { taken(): Call[]; stop(): void } => {
  const handle = gateway.handle.bind(gateway);
  let calls: Call[] = [];
  gateway.handle = async (request) => {
    const begun = performance.now();
    const response = await handle(request);
    const { accessKey } = parseSigner(request.headers.authorization ?? '');
    const operation = request.headers['x-amz-target']?.split('.')[1] ?? request.method;
    calls.push({ accessKey, operation, begun, ended: performance.now() });
    return response;
  };
  return {
    taken: () => {
      const taken = calls;
      calls = [];
      return taken;
    },
    stop: () => {
      gateway.handle = handle;
    },
  };
};

/** A call that starts before the earliest of its group ends ran concurrently with it. */
const groupsOf = (calls: Call[]): string[][] => {
  const groups: { ends: number; operations: string[] }[] = [];
  for (const { begun, ended, operation } of calls.toSorted((a, b) => a.begun - b.begun)) {
    const group = groups.at(-1);
    if (!group || begun >= group.ends) groups.push({ ends: ended, operations: [operation] });
    else {
      group.operations.push(operation);
      group.ends = Math.min(group.ends, ended);
    }
  }
  return groups.map(({ operations }) => operations);
};
