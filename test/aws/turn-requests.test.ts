import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createBodyReader } from '../../shared/http/read-body.ts';
import { createRouter } from '../../shared/http/router.ts';
import { routes } from '../../shared/http/routes/routes.ts';
import { createDirectory } from '../../shared/identity/agents/directory.ts';
import type { Deps } from '../../shared/identity/deps.ts';
import { agentStateRef } from '../../shared/model/agent-state.ts';
import { registerAgent } from '../../shared/registration/register-agent.ts';
import { callerWith, parsed, type Reply } from '../support/api.ts';
import { called, madeCard, toolReport } from '../support/ground.ts';
import { startWorlds } from './worlds.ts';

/** Registers agents, and calls as each of them. */
const callersOn = (deps: Deps, project: string) => {
  const handle = createRouter(deps, routes);
  return async (id: string, capabilities: string[]) => {
    const { key = '' } = await registerAgent(deps, project, id, {
      dialect: 'common-ground',
      capabilities,
      transport: 'http',
    });
    return callerWith(async (method, path, headers, body = ''): Promise<Reply> => {
      const response = await handle({
        method,
        path,
        query: '',
        headers,
        readBody: createBodyReader(Buffer.from(body)),
      });
      const text = typeof response.body === 'string' ? response.body : '';
      return { status: response.status, headers: response.headers, body: parsed(text) };
    }, key);
  };
};

describe('what a call about a turn asks of DynamoDB', () => {
  it('is one write without a look before it; for a lease, one query and one transaction', async (t) => {
    const { worlds, dynamo } = await startWorlds(t, 1);
    const [world] = worlds;
    assert.ok(world);
    const { project } = world;
    // What a function knows of keys and agents is not looked up while it is new; here it stays so.
    const directory = createDirectory(world.deps.records, { ...world.deps.clock, now: () => 0 });
    const callerOf = callersOn({ ...world.deps, directory }, project);
    // Its groups are asked only where nothing is for itself.
    const merlin = await callerOf('merlin', ['scribe', 'reader']);
    const library = await callerOf('library', ['search']);
    const card = await madeCard(merlin, 'task.deliverable', { done: true });
    await merlin.call('POST', '/v1/turns', called('merlin'));
    let asked: string[] = [];
    dynamo.middlewareStack.add(
      (next, { commandName }) =>
        (args) => {
          asked.push(String(commandName).replace(/Command$/, ''));
          return next(args);
        },
      { step: 'initialize' },
    );
    /** What one call asks for, and what it answers. */
    const observed = async (path: string, body: object, by = merlin) => {
      asked = [];
      const reply = await by.call('POST', path, body);
      assert.ok(reply.status < 300, JSON.stringify(reply.body));
      return { asked: [...asked], body: reply.body };
    };
    const leased = await observed('/v1/turns/lease', { agent_id: 'merlin' });
    const { agent_turn_id, turn_epoch } = leased.body;
    const path = `/v1/turns/${agent_turn_id}`;
    const report = await toolReport(merlin, 'merlin', leased.body, 'c1');
    const wanted = { status: 'success', result: { __cg_control: { after_execution: 'suspend' } } };
    const controlled = {
      ...(await toolReport(library, 'merlin', leased.body, 'c2', { after_execution: 'terminate' })),
      tool_result_card_id: await madeCard(library, 'tool.result', wanted),
    };
    const search = {
      subject: `cg.v1r3.${project}.public.cmd.tool.search.find`,
      payload: { tool_call_id: 'c2', agent_turn_id, turn_epoch, agent_id: 'merlin' },
    };
    const seen: [string, string[]][] = [['lease', leased.asked]];
    for (const [verb, body] of [
      ['start', {}],
      ['step', { step_id: 's1', phase: 'think' }],
      ['suspend', { waiting: ['c1', 'c2'].map((tool_call_id) => ({ tool_call_id, step_id: 's1' })) }],
      ['reports', report],
    ] as const) {
      seen.push([verb, (await observed(`${path}/${verb}`, { turn_epoch, ...body })).asked]);
    }
    assert.equal((await merlin.call('POST', '/v1/messages', search)).status, 202);
    seen.push(['reports of a service', (await observed(`${path}/reports`, controlled, library)).asked]);
    seen.push(['take up', (await observed('/v1/turns/lease', { agent_id: 'merlin' })).asked]);
    const delivered = { turn_epoch, status: 'success', deliverable_card_id: card };
    seen.push(['deliver', (await observed(`${path}/deliver`, delivered)).asked]);
    assert.deepEqual(Object.fromEntries(seen), {
      lease: ['Query', 'TransactWriteItems'],
      start: ['UpdateItem'],
      step: ['UpdateItem'],
      suspend: ['UpdateItem'],
      reports: ['UpdateItem'],
      // Whether the task under the command's id is this call's command.
      'reports of a service': ['GetItem', 'UpdateItem'],
      'take up': ['Query', 'UpdateItem'],
      deliver: ['BatchGetItem', 'UpdateItem'],
    });
  });
});

describe('a turn that was suspended before its head kept whom it called', () => {
  it('can call its tools, several at once too, and each may report', async (t) => {
    const { worlds } = await startWorlds(t, 1);
    const [world] = worlds;
    assert.ok(world);
    const { project, deps } = world;
    const callerOf = callersOn(deps, project);
    const merlin = await callerOf('merlin', []);
    const library = await callerOf('library', []);
    await merlin.call('POST', '/v1/turns', called('merlin'));
    const { body: held } = await merlin.call('POST', '/v1/turns/lease', { agent_id: 'merlin' });
    const { agent_turn_id, turn_epoch } = held;
    const calls = ['c1', 'c2', 'c3'];
    const waiting = calls.map((tool_call_id) => ({ tool_call_id, step_id: 's1' }));
    await merlin.call('POST', `/v1/turns/${agent_turn_id}/start`, { turn_epoch });
    await merlin.call('POST', `/v1/turns/${agent_turn_id}/suspend`, { turn_epoch, waiting });
    await deps.records.update(agentStateRef(project, 'merlin'), { unset: ['calledServices'] }, deps.newId());
    const sent = calls.map((tool_call_id) =>
      merlin.call('POST', '/v1/messages', {
        subject: `cg.v1r3.${project}.public.cmd.tool.library.find`,
        payload: { tool_call_id, agent_turn_id, turn_epoch, agent_id: 'merlin' },
      }),
    );
    assert.deepEqual(
      (await Promise.all(sent)).map(({ status }) => status),
      [202, 202, 202],
    );
    const { calledServices: kept } = (await deps.records.get(agentStateRef(project, 'merlin'))) ?? {};
    assert.deepEqual(kept, { c1: 'library', c2: 'library', c3: 'library' });
    for (const call of calls) {
      const report = await toolReport(library, 'merlin', held, call);
      const { status } = await library.call('POST', `/v1/turns/${agent_turn_id}/reports`, report);
      assert.equal(status, 202, call);
    }
  });
});
