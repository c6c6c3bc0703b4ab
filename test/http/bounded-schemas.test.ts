import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as z from 'zod';
import { AgentOsManifest } from '../../shared/dialects/agent-os/manifest.ts';
import * as payloads from '../../shared/dialects/common-ground/payloads.ts';
import { DIALECTS } from '../../shared/dialects/registry.ts';
import { routes } from '../../shared/http/routes/routes.ts';
import { NatsEnvelope } from '../../shared/nats/nats-message.ts';
import { RelayItemSchema } from '../../shared/nats/relay-item-schema.ts';
import { testParley } from '../support/test-parley.ts';

const isSchema = (value: unknown): value is z.ZodType => value instanceof z.ZodType;

/** A list or an object of any fields whose size is looked at before what it holds. */
const isGuarded = (schema: z.ZodType): boolean =>
  schema instanceof z.ZodPipe && schema.def.in instanceof z.ZodTransform;

/** Where in a schema lists and objects of any size may stand, of which each item is looked at. */
const unbounded = (schema: z.ZodType, path: string, seen = new Set<z.ZodType>()): string[] => {
  if (seen.has(schema)) return [];
  seen.add(schema);
  if (isGuarded(schema) && schema instanceof z.ZodPipe && schema.def.out instanceof z.ZodArray) {
    return unbounded(schema.def.out.element as z.ZodType, `${path}[]`, seen);
  }
  if (isGuarded(schema) && schema instanceof z.ZodPipe && schema.def.out instanceof z.ZodRecord) return [];
  if (schema instanceof z.ZodArray || schema instanceof z.ZodRecord) return [path];
  const inside = (value: unknown, at: string): string[] => {
    if (isSchema(value)) return unbounded(value, at, seen);
    if (Array.isArray(value)) return value.flatMap((one) => inside(one, at));
    return [];
  };
  if (schema instanceof z.ZodObject) {
    return Object.entries(schema.shape).flatMap(([name, field]) => inside(field, `${path}.${name}`));
  }
  return Object.values(schema.def).flatMap((value) => inside(value, path));
};

const schemas: [name: string, schema: z.ZodType][] = [
  ...routes.map(({ method, path, body }): [string, z.ZodType] => [`${method} ${path}`, body]),
  ...DIALECTS.map(({ name, schema }): [string, z.ZodType] => [name, schema]),
  ...Object.entries(payloads).map(([name, schema]): [string, z.ZodType] => [name, schema]),
  ['manifest', AgentOsManifest],
  ['arrival', NatsEnvelope],
  ['asked', RelayItemSchema],
];

describe('list bounds', () => {
  it('checks the length of every list before its items', () => {
    assert.deepEqual(unbounded(z.object({ a: z.array(z.string()).max(3) }), 'x'), ['x.a']);
    for (const [name, schema] of schemas) assert.deepEqual(unbounded(schema, name), [], name);
  });

  it('reports one issue for a list that is too long', async (t) => {
    const { agent } = await testParley(t);
    const requester = await agent('requester');
    const reply = await requester.call('POST', '/v1/boxes', { kind: 'context', cards: Array(20_000).fill(1) });
    assert.equal(reply.status, 400);
    assert.deepEqual(reply.body.issues, [{ path: 'cards', message: 'must be at most 2000 items long' }]);
    const mr = DIALECTS.find(({ name }) => name === 'message-routing');
    assert.ok(mr);
    const files_modified = Array(100_000).fill(1);
    const issues = mr.validate({
      type: 'result',
      payload: { status: 'success', deliverables: { files_modified } },
    });
    assert.equal(issues.filter(({ path }) => path.startsWith('payload.deliverables.files_modified')).length, 1);
  });
});
