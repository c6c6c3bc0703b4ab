import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import parleyConfig from '../../parley.config.ts';
import { defineConfig } from '../../shared/config/config.ts';
import { DIALECT_NAMES } from '../../shared/dialects/registry.ts';
import { buildAsyncApi } from '../../shared/http/asyncapi.ts';
import { buildRelayPlan } from '../../shared/nats-gateway/build-relay-plan.ts';
import { callerWith } from '../support/api.ts';
import { testParley } from '../support/test-parley.ts';

interface Described {
  asyncapi: string;
  channels: Record<string, { address: string; parameters: object; messages: Record<string, { $ref: string }> }>;
  operations: Record<string, { action: string; channel: { $ref: string } }>;
  components: { messages: Record<string, { payload: object }> };
}

const described = async (t: Parameters<typeof testParley>[0]) => {
  const { transport } = await testParley(t);
  const { status, body } = await callerWith(transport, undefined).call('GET', '/asyncapi.json');
  assert.equal(status, 200);
  const document: Described = body;
  return document;
};

/** Whether some subject is of both, where a star is any one step and `>` any that follow. */
const meet = (pattern: string, address: string): boolean => {
  const steps = address.split('.');
  const wanted = pattern.split('.');
  const isOpen = wanted.at(-1) === '>';
  if (isOpen ? steps.length < wanted.length : steps.length !== wanted.length) return false;
  return wanted.every(
    (step, index) => step === '*' || step === '>' || step === steps[index] || steps[index]?.startsWith('{'),
  );
};

describe('GET /asyncapi.json', () => {
  it('has the prefix of the configuration, or a parameter where projects differ in it', async () => {
    const { projects, dialects } = parleyConfig;
    const nats = { default: { prefix: 'fleet-a' } };
    const fleet = defineConfig({ projects, dialects: { ...dialects, 'round-table': { nats } } });
    const two = defineConfig({ projects: { ...projects, other: { domains: {} } }, dialects: fleet.dialects });
    for (const [config, prefix] of [
      [parleyConfig, 'roundtable'],
      [fleet, 'fleet-a'],
      [two, '{prefix}'],
    ] as const) {
      const text = JSON.stringify(await buildAsyncApi(config));
      assert.ok(text.includes(`"${prefix}.tasks.{domain}.{action}"`), prefix);
    }
  });

  it('describes every subject that the relay reads and every stream, in AsyncAPI 3.0, without a key', async (t) => {
    const document = await described(t);
    assert.equal(document.asyncapi, '3.0.0');
    const { sources, streams } = buildRelayPlan('default', parleyConfig);
    const received = Object.values(document.operations)
      .filter(({ action }) => action === 'receive')
      .map(({ channel }) => document.channels[channel.$ref.replace('#/channels/', '')]?.address ?? '');
    for (const { filter } of sources) {
      assert.ok(
        received.some((address) => meet(filter, address)),
        filter,
      );
    }
    const all = Object.values(document.channels).map(({ address }) => address);
    // What was refused for good is the relay's own to keep.
    for (const subject of streams
      .flatMap(({ subjects }) => subjects)
      .filter((name) => name !== 'parley.dead-letters.>')) {
      assert.ok(
        all.some((address) => meet(subject, address)),
        subject,
      );
    }
  });

  it('contains the messages of every dialect and of every channel in the AsyncAPI document', async (t) => {
    const document = await described(t);
    const { messages } = document.components;
    for (const name of DIALECT_NAMES) {
      assert.ok(
        Object.values(document.channels).some((channel) => name in channel.messages),
        name,
      );
      assert.ok(
        ['oneOf', 'anyOf', 'type'].some((keyword) => keyword in (messages[name]?.payload ?? {})),
        name,
      );
    }
    for (const { address, parameters, messages: auditEntry } of Object.values(document.channels)) {
      assert.deepEqual(
        Object.keys(parameters),
        [...address.matchAll(/\{(\w+)\}/g)].map(([, name]) => name),
      );
      for (const [name, { $ref }] of Object.entries(auditEntry)) {
        assert.equal($ref, `#/components/messages/${name}`);
        assert.ok(messages[name], name);
      }
    }
  });
});
