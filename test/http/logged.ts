import assert from 'node:assert/strict';
import type { AuditLogEntry } from '../../shared/messaging/audit-log/read-audit-log.ts';
import { agentOsAgent } from '../support/agent-os-agent.ts';
import type { Caller } from '../support/api.ts';
import { type TestOptions, testParley } from '../support/test-parley.ts';

export const start = async (t: Parameters<typeof testParley>[0], options?: TestOptions) => {
  const parley = await testParley(t, options);
  return { parley, brain: await agentOsAgent(parley, 'one-brain'), scribe: await agentOsAgent(parley, 'scribe') };
};

export const logged = async (caller: Caller, query = ''): Promise<AuditLogEntry[]> => {
  const { status, body } = await caller.call('GET', `/v1/audit-log${query}`);
  assert.equal(status, 200, JSON.stringify(body));
  return body.entries;
};

export const lines = (entries: AuditLogEntry[]): string[] =>
  entries.map((of) => `${of.direction} ${of.type} ${of.fromAgent}>${of.toAgent} ${of.status} ${of.latencyMs}`);
