import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import * as z from 'zod';
import * as payloads from '../../shared/dialects/common-ground/payloads.ts';
import { DIALECTS } from '../../shared/dialects/registry.ts';
import { type GuideExample, parseGuide, playGuide } from '../support/guide-examples.ts';
import { testParley } from '../support/test-parley.ts';

const readGuide = (dialect: string): GuideExample[] =>
  parseGuide(readFileSync(new URL(`../../docs/guides/${dialect}.md`, import.meta.url), 'utf8'));

interface MessageVariant {
  name: string;
  schema: z.ZodType;
}

/** The kinds of messages that a schema allows: by `kind`, `type` or `status`, or else by the fields that they must have. */
const listVariants = (schema: z.ZodType): MessageVariant[] => {
  if (schema instanceof z.ZodUnion) return schema.options.flatMap((option) => listVariants(option as z.ZodType));
  assert.ok(schema instanceof z.ZodObject, 'a message is an object');
  for (const field of ['kind', 'type', 'status']) {
    const kind: unknown = schema.shape[field];
    if (!(kind instanceof z.ZodLiteral)) continue;
    return [...kind.values].map((value) => ({
      name: `${field} ${value}`,
      schema: schema.extend({ [field]: z.literal(value) }),
    }));
  }
  const required = Object.keys(schema.shape).filter((field) => !schema.shape[field].safeParse(undefined).success);
  return [{ name: required.join(', '), schema }];
};

/** What the page shows as accepted. */
const listAcceptedMessages = (examples: GuideExample[]): unknown[] =>
  examples.filter(({ path, code }) => path === '/v1/messages' && code === undefined).map(({ json }) => json);

for (const dialect of DIALECTS) {
  describe(`docs/guides/${dialect.name}.md`, () => {
    const examples = readGuide(dialect.name);

    it(`${dialect.name}: every example is answered as the page says`, { timeout: 60_000 }, async (t) => {
      await playGuide(await testParley(t), examples);
    });

    for (const { name, schema } of listVariants(dialect.schema)) {
      it(`${dialect.name}: a message with ${name} has an example that is accepted`, () => {
        assert.ok(listAcceptedMessages(examples).some((message) => schema.safeParse(message).success));
      });
    }

    it(`${dialect.name}: at least one example is refused`, () => {
      assert.ok(examples.some(({ code }) => code !== undefined));
    });
  });
}

/** Where the page on CommonGround has each payload: the ends of the subjects, or the call of a worker. */
const PAYLOAD_PLACES: Record<string, readonly string[]> = {
  WakeupPayload: ['.wakeup'],
  EnqueuePayload: ['.turn'],
  ToolReportPayload: payloads.ToolReportPayload.shape.message_type.unwrap().options.map((type) => `.${type}`),
  StopPayload: ['.stop'],
  ToolCommandPayload: ['.cmd.tool.search.execute', '.internal.fork_join', '.internal.delegate'],
  StepEventPayload: ['.step'],
  TaskEventPayload: ['.task'],
  StateEventPayload: ['.state'],
  ChunkPayload: ['.chunk'],
  UiActionPayload: ['.ui.action'],
  UiActionAckPayload: ['.ui.action_ack'],
  UserMessagePayload: ['.cmd.user.console.message'],
  StartBody: ['/start'],
  StepBody: ['/step'],
  SuspendBody: ['/suspend'],
  DeliverBody: ['/deliver'],
  StopBody: ['/stop'],
};

interface ShownPayload {
  place: string;
  payload: object;
}

/** All messages in a value, at any depth: events are found in answers. */
const findMessages = (value: unknown): ShownPayload[] => {
  if (typeof value !== 'object' || value === null) return [];
  const { subject, payload } = value as { subject?: unknown; payload?: unknown };
  return typeof subject === 'string' && typeof payload === 'object' && payload !== null
    ? [{ place: subject, payload }]
    : Object.values(value).flatMap(findMessages);
};

const listShownPayloads = (examples: GuideExample[]): ShownPayload[] =>
  examples
    .filter(({ code }) => code === undefined)
    .flatMap(({ path, json, reply }) => [
      ...findMessages(json),
      ...findMessages(reply),
      ...(path.startsWith('/v1/turns/') && typeof json === 'object' && json ? [{ place: path, payload: json }] : []),
    ]);

/** A call names its agent in the subject. */
const withTarget = (name: string, { place, payload }: ShownPayload): object =>
  name === 'EnqueuePayload' ? { agent_id: place.split('.').at(-2), ...payload } : payload;

describe('the payloads of docs/guides/common-ground.md', () => {
  const shown = listShownPayloads(readGuide('common-ground'));
  const schemas = Object.entries(payloads).filter(([name]) => /(Payload|Body)$/.test(name));

  for (const [name, schema] of schemas) {
    it(`${name} has an example in each of its places`, () => {
      assert.ok(schema instanceof z.ZodType);
      const places = PAYLOAD_PLACES[name] ?? [];
      assert.notEqual(places.length, 0, `say in PAYLOAD_PLACES where the page has ${name}`);
      for (const place of places) {
        const there = shown.filter((message) => message.place.endsWith(place));
        const isShown = there.some((message) => schema.safeParse(withTarget(name, message)).success);
        assert.ok(isShown, `no example at ${place}`);
      }
    });
  }
});

describe('a guide', () => {
  const register = '```http agent=admin\nPUT /v1/agents/tim\n\n{ "dialect": "round-table" }\n```\n';
  const play = async (t: Parameters<typeof testParley>[0], text: string) =>
    playGuide(await testParley(t), parseGuide(register + text));

  it('fails where a message is refused', async (t) => {
    await assert.rejects(
      play(t, '```json message agent=tim\n{ "from": "tim", "version": "1.0" }\n```'),
      /line 6: .* 400/,
    );
  });

  it('fails where a message is refused with another code than its mark says', async (t) => {
    const refused = '```json message agent=tim status=400 code=unknown_type\n{ "from": "tim", "version": "1.0" }\n```';
    await assert.rejects(play(t, `It is \`400 unknown_type\`:\n${refused}`), /invalid_message/);
  });

  it('fails where the text does not say with which code a message is refused', async (t) => {
    const refused =
      '```json message agent=tim status=400 code=invalid_message\n{ "from": "tim", "version": "1.0" }\n```';
    await assert.rejects(play(t, refused), /the text must say 400 invalid_message/);
    await play(t, `It is \`400 invalid_message\`:\n${refused}`);
  });

  it('fails where an answer is another', async (t) => {
    const call = '```http agent=tim\nPOST /v1/claims\n\n{}\n```\n';
    await assert.rejects(play(t, `${call}\`\`\`json reply\n{ "tasks": [{}] }\n\`\`\``), /reply\.tasks\[0\]/);
    await play(t, `${call}\`\`\`json reply\n{ "tasks": [] }\n\`\`\``);
  });

  it('fails where an example has no mark', () => {
    assert.throws(() => parseGuide('```json\n{}\n```'), /mark the example/);
  });
});
