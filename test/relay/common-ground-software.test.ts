import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { defineConfig } from '../../shared/config/config.ts';
import type { TestAgent } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { groundAgent, type Held, madeCard, Worker } from '../support/ground.ts';
import {
  GROUND_SOFTWARE,
  type GroundSoftware,
  type Identity,
  identityOf,
  readTurnEvent,
  ToolResultContent,
} from '../support/ground-readers.ts';
import { consumerOf, nextOf, type RelaySite, relaySite, SITE_CONFIG } from '../support/relay-site.ts';

const CONFIG = defineConfig({ ...SITE_CONFIG, dialects: { 'common-ground': { defaultSender: 'pmo' } } });
type Consumer = Awaited<ReturnType<typeof consumerOf>>;

/** A deployment of the software: a tool service, who calls, and one kind of worker for all other agents. */
interface Deployment {
  site: RelaySite;
  software: GroundSoftware;
  service: TestAgent;
  bells: Consumer;
  commands: Consumer;
  events: Consumer;
  workers: Map<string, Worker>;
}

const deploy = async (t: TestContext, software: GroundSoftware): Promise<Deployment> => {
  const site = await relaySite(t, { config: CONFIG });
  const { version } = software;
  await groundAgent(site, 'pmo', { transport: 'nats', role: 'coordinator' });
  const service = await groundAgent(site, 'word_count', { transport: 'nats' });
  const registration = { transport: 'nats', workerTarget: 'worker_generic' };
  const agents = ['principal', 'associate_1', 'associate_2'];
  const workers = await Promise.all(agents.map(async (id) => new Worker(await groundAgent(site, id, registration))));
  const target_subject = `cg.${version}.{project_id}.{channel_id}.cmd.tool.word_count.call`;
  const tool = { tool_name: 'word_count', target_subject, after_execution: 'suspend', options: {} };
  assert.equal((await site.admin.call('PUT', '/v1/tools/word_count', tool)).status, 201);
  await site.relay();
  const consumer = (durable_name: string, category: string, place: string) =>
    consumerOf(site.client, `cg_${category}_${version}`, {
      durable_name,
      filter_subject: `cg.${version}.*.*.${category}.${place}`,
    });
  return {
    site,
    software,
    service,
    bells: await consumer('worker_generic', 'cmd', 'agent.worker_generic.wakeup'),
    commands: await consumer('word_count', 'cmd', 'tool.word_count.*'),
    events: await consumer('observer', 'evt', 'agent.>'),
    workers: new Map(workers.map((worker) => [worker.agent.id, worker])),
  };
};

const publish = ({ site, software }: Deployment, place: string, identity: Identity, payload: object) => {
  const written = software.write(identity, payload);
  const subject = `cg.${software.version}.default.public.${place}`;
  return jetstream(site.client).publish(subject, JSON.stringify(written.payload), { headers: written.headers });
};

/** The worker listens to bells alone, and leases for the agent that one names. */
const answerBell = async ({ bells, software, workers }: Deployment): Promise<{ worker: Worker; held: Held }> => {
  for (;;) {
    const worker = workers.get(software.readWakeup((await nextOf(bells)).message));
    assert.ok(worker, 'a bell for nobody');
    const held = await worker.lease();
    if (held) return { worker, held };
  }
};

const callTool = async (
  deployment: Deployment,
  { worker, held }: { worker: Worker; held: Held },
  { call, place, tool_name, args }: { call: string; place: string; tool_name: string; args: object },
): Promise<void> => {
  const tool_call_card_id = await madeCard(worker.agent, 'tool.call', {
    tool_name,
    arguments: args,
    status: 'called',
    target_subject: null,
  });
  await worker.suspend(held, [call]);
  const payload = { tool_name, after_execution: 'suspend', tool_call_card_id };
  await publish(deployment, place, identityOf(worker.agent.id, held, call), payload);
};

/** The tool service takes one command, reads its card, and reports. */
const runWordCount = async (deployment: Deployment): Promise<void> => {
  const { commands, service, software } = deployment;
  const { identity, card, afterExecution } = software.readToolCommand((await nextOf(commands)).message);
  const { body } = await service.call('GET', `/v1/cards/${card}`);
  const words = body.content.arguments.text.split(' ').length;
  const result = { status: 'success', after_execution: afterExecution, result: { words }, error: null };
  const tool_result_card_id = await madeCard(service, 'tool.result', result);
  const payload = { after_execution: afterExecution, status: 'success', tool_result_card_id };
  await publish(deployment, `cmd.agent.${identity.agent_id}.tool_result`, identity, payload);
};

/** The result of its call, as the worker reads it when the bell rings again. */
const resume = async (deployment: Deployment, agent: string) => {
  const { worker, held } = await answerBell(deployment);
  assert.equal(worker.agent.id, agent);
  const [report] = held.inbox;
  const { body } = await worker.agent.call('GET', `/v1/cards/${report.tool_result_card_id}`);
  const content = ToolResultContent.parse(body.content);
  assert.equal(content.status, report.status);
  return { worker, held, content };
};

const deadLetters = async ({ site }: Deployment) =>
  (await (await jetstreamManager(site.client)).streams.info('PARLEY_DEAD_LETTERS')).state.messages;

describe('the software of CommonGround', () => {
  for (const software of GROUND_SOFTWARE) {
    it(`of ${software.version} runs a turn with a tool call and a fork_join through on NATS`, async (t) => {
      const deployment = await deploy(t, software);
      const { site, events, commands } = deployment;
      const call = { correlation_id: randomUUID(), mode: 'call', context_box_id: null, payload: { instruction: 'go' } };
      const { headers } = software.write({ agent_id: 'principal', agent_turn_id: '', turn_epoch: 0 }, {});
      const place = `cg.${software.version}.default.public.cmd.agent.principal.turn`;
      await jetstream(site.client).publish(place, JSON.stringify(call), { headers });

      const begun = await answerBell(deployment);
      const { worker, held } = begun;
      assert.deepEqual([worker.agent.id, held.inbox[0].from], ['principal', 'pmo']);
      await worker.ok(held, 'start');
      await worker.ok(held, 'step', { step_id: 's1', phase: 'started' });
      const said = [{ chunk_type: 'start' }, { chunk_type: 'content', content: 'Hm' }, { chunk_type: 'end' }];
      const chunkPlace = `cg.${software.version}.default.public.str.agent.principal.chunk`;
      const { agent_turn_id } = held;
      for (const chunk of said) {
        site.client.publish(chunkPlace, JSON.stringify({ agent_turn_id, step_id: 's1', ...chunk }));
      }

      const counted = { call: 'c1', place: 'cmd.tool.word_count.call', tool_name: 'word_count', args: { text: 'a b' } };
      await callTool(deployment, begun, counted);
      await runWordCount(deployment);
      const afterCount = await resume(deployment, 'principal');
      assert.deepEqual(afterCount.content.result, { words: 2 });

      const tasks = ['associate_1', 'associate_2'].map((target_ref) => ({
        target_strategy: 'reuse',
        target_ref,
        instruction: 'count',
        context_box_id: null,
      }));
      const forked = { call: 'c2', place: 'cmd.sys.pmo.internal.fork_join', tool_name: 'fork_join', args: { tasks } };
      await callTool(deployment, begun, forked);
      for (const _ of tasks) {
        const child = await answerBell(deployment);
        await child.worker.ok(child.held, 'start');
        await child.worker.deliver(child.held, { summary: `by ${child.worker.agent.id}` });
      }
      const afterFork = await resume(deployment, 'principal');
      const { status, results } = Object(afterFork.content.result);
      assert.deepEqual(
        [status, results.map((one: { summary: string }) => one.summary)],
        ['success', ['by associate_1', 'by associate_2']],
      );
      const deliverable = await worker.deliver(held, { summary: 'counted' });

      const told: ReturnType<typeof readTurnEvent>[] = [];
      while (!told.some(({ kind, agent }) => kind === 'task' && agent === 'principal')) {
        told.push(readTurnEvent(software, (await nextOf(events)).message));
      }
      const ends = told.filter(({ kind }) => kind === 'task');
      assert.deepEqual(ends.map(({ agent }) => agent).toSorted(), ['associate_1', 'associate_2', 'principal']);
      const own = ends.find(({ agent }) => agent === 'principal');
      assert.deepEqual(
        [own?.agent_turn_id, Object(own).status, Object(own).deliverable_card_id],
        [agent_turn_id, 'success', deliverable],
      );
      await eventually(async () => assert.deepEqual(await chunksOf(deployment, agent_turn_id), ['', 'Hm', '']));
      assert.equal(await commands.next({ expires: 1000 }), null, 'the service has its command once');
      assert.equal(await deadLetters(deployment), 0);
    });

    it(`of ${software.version} reads what Parley reports when a call cannot begin`, async (t) => {
      const deployment = await deploy(t, software);
      const correlation_id = randomUUID();
      const asked = { agent_id: 'principal', correlation_id, mode: 'call', recursion_depth: 19 };
      const { status } = await deployment.site.admin.call('POST', '/v1/messages', {
        subject: `cg.${software.version}.default.public.cmd.agent.principal.turn`,
        headers: { 'CG-Recursion-Depth': '19' },
        payload: software.version === 'v1r4' ? { correlation_id, mode: 'call' } : asked,
      });
      assert.equal(status, 202);
      const begun = await answerBell(deployment);
      await begun.worker.ok(begun.held, 'start');
      const wrong = [
        ['delegate_async', { target_strategy: 'new', target_ref: 'associate_1', instruction: 'go' }, /depth/],
        ['delegate_async', { target_strategy: 'new', instruction: 'go' }, /target_ref/],
        ['provision_agent', { action: 'create' }, /no internal tool/],
      ] as const;
      for (const [at, [tool_name, args, message]] of wrong.entries()) {
        const place = `cmd.sys.pmo.internal.${tool_name}`;
        const call = { call: `c${at}`, place, tool_name, args };
        const identity = identityOf('principal', begun.held, call.call);
        const card = await madeCard(begun.worker.agent, 'tool.call', { tool_name, arguments: args });
        await begun.worker.suspend(begun.held, [call.call]);
        const depth = software.write(identity, {
          tool_name,
          after_execution: 'suspend',
          tool_call_card_id: card,
        });
        depth.headers.set('CG-Recursion-Depth', '19');
        const subject = `cg.${software.version}.default.public.${place}`;
        await jetstream(deployment.site.client).publish(subject, JSON.stringify(depth.payload), {
          headers: depth.headers,
        });
        const { content } = await resume(deployment, 'principal');
        assert.deepEqual([content.status, content.after_execution], ['failed', 'suspend']);
        assert.match(content.error?.message ?? '', message);
      }
    });
  }
});

const chunksOf = async ({ site, workers }: Deployment, turn: string): Promise<string[]> => {
  const key = workers.get('principal')?.agent.key;
  const response = await fetch(`${site.address}/v1/turns/${turn}/stream`, {
    headers: { authorization: `Bearer ${key}` },
  });
  const text = await response.text();
  return [...text.matchAll(/^event: chunk\ndata: (.*)$/gm)].map(([, data]) => JSON.parse(data ?? '').content);
};
