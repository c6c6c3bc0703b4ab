import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { get } from '../../api/call.ts';
import { Problem } from '../../api/problem.ts';
import type { Agent, JsonSchema } from '../../api/types.ts';
import { useResource } from '../../state/resource.ts';
import { go, href, params, setParams } from '../../state/router.ts';
import { canOperate, getOwnAgent } from '../../state/session.ts';
import { Button, Empty, ProblemNote } from '../../ui/basics.tsx';
import { Card, Loaded, Page } from '../../ui/page.tsx';
import { SchemaForm, toInitial } from '../../ui/schema-form.tsx';
import { attempt } from '../../ui/toast.tsx';
import { CONSOLE_AGENT, requestTask } from './request-task.ts';

const PRIORITIES = ['critical', 'high', 'normal', 'low'];

/** Pick what is to be done, fill in a form made from its schema, and watch the task go. */
export const Submit = () => {
  const agents = useResource('submit', (abort) => get<{ agents: Agent[] }>('v1/agents', { limit: 100 }, abort));
  return (
    <Page
      title="Submit a task"
      name="Submit"
      lead="Pick what is to be done. You see the task as soon as it is accepted."
    >
      {canOperate.value ? (
        <Loaded from={agents}>{({ agents: found }) => <Form agents={found} />}</Loaded>
      ) : (
        <Card>
          <Empty title="This key only reads" icon="key">
            Sign in with a key that may request tasks.
          </Empty>
        </Card>
      )}
    </Page>
  );
};

const Form = ({ agents }: { agents: Agent[] }) => {
  const own = getOwnAgent();
  const capability = params.value.get('capability') ?? '';
  const to = params.value.get('to') ?? '';
  const from = useSignal(own ?? CONSOLE_AGENT);
  const priority = useSignal('normal');
  const providers = agents.filter(({ capabilities = [] }) => capabilities.includes(capability));
  const schema: JsonSchema | undefined = (
    providers.find(({ id }) => id === to) ?? providers.find((one) => one.schemas?.[capability])
  )?.schemas?.[capability]?.input;
  const value = useSignal<unknown>({});
  const wrong = useSignal<string | undefined>(undefined);
  const problem = useSignal<Problem | undefined>(undefined);
  useEffect(() => {
    value.value = toInitial(schema) ?? {};
    wrong.value = undefined;
  }, [schema, value, wrong]);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (wrong.value !== undefined) return;
    const answer = await attempt('Requested', () =>
      requestTask({
        capability,
        input: value.value ?? {},
        priority: priority.value,
        from: from.value,
        ...(to !== '' && { to }),
      }),
    );
    problem.value = answer instanceof Problem ? answer : undefined;
    if (!(answer instanceof Problem)) go(href(['tasks', answer]));
  };
  const names = [...new Set(agents.flatMap(({ capabilities = [] }) => capabilities))]
    .filter((name) => !name.endsWith('*'))
    .toSorted();
  return (
    <Card>
      <form class="submit-form" onSubmit={submit}>
        <label>
          Capability
          <input
            required
            list="capabilities"
            placeholder="security.briefing"
            value={capability}
            onInput={(event) => setParams({ capability: event.currentTarget.value })}
          />
          <datalist id="capabilities">
            {names.map((name) => (
              <option key={name} value={name} />
            ))}
          </datalist>
          {names.length === 0 && (
            <span class="hint">No agent has declared a capability yet: the task waits for one.</span>
          )}
        </label>
        <div class="thirds">
          <label>
            Agent
            <select value={to} onChange={(event) => setParams({ to: event.currentTarget.value })}>
              <option value="">Any that can</option>
              {providers.map(({ id }) => (
                <option key={id}>{id}</option>
              ))}
            </select>
          </label>
          <label>
            Priority
            <select value={priority.value} onChange={(event) => (priority.value = event.currentTarget.value)}>
              {PRIORITIES.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </label>
          <label>
            In the name of
            <select
              value={from.value}
              disabled={own !== undefined}
              onChange={(event) => (from.value = event.currentTarget.value)}
            >
              {[...new Set([own ?? CONSOLE_AGENT, ...agents.map(({ id }) => id)])].map((id) => (
                <option key={id}>{id}</option>
              ))}
            </select>
          </label>
        </div>
        <fieldset>
          <legend>Input</legend>
          {schema === undefined && capability !== '' && <p class="hint">Nobody has given a schema for {capability}.</p>}
          <SchemaForm key={capability + to} schema={schema} value={value} problem={wrong} />
        </fieldset>
        {wrong.value && (
          <p class="bad-text" role="alert">
            {wrong.value}
          </p>
        )}
        {problem.value && <ProblemNote problem={problem.value} />}
        <div class="actions">
          <Button type="submit" kind="primary" icon="send" isDisabled={capability === ''}>
            Submit
          </Button>
        </div>
      </form>
    </Card>
  );
};
