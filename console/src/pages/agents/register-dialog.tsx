import { useSignal } from '@preact/signals';
import { call } from '../../api/call.ts';
import { Problem } from '../../api/problem.ts';
import { href } from '../../state/router.ts';
import { Button, ProblemNote } from '../../ui/basics.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { attempt } from '../../ui/toast.tsx';
import { useDialects } from '../task/dialects.ts';
import { WorkerCode } from './worker-code.tsx';

interface Registered {
  id: string;
  key: string;
  capabilities: string[];
}

export const RegisterDialog = ({ onClose }: { onClose: () => void }) => {
  const dialects = useDialects();
  const id = useSignal('');
  const dialect = useSignal('native');
  const capabilities = useSignal('');
  const problem = useSignal<Problem | undefined>(undefined);
  const done = useSignal<Registered | undefined>(undefined);
  const register = async (event: Event): Promise<void> => {
    event.preventDefault();
    const names = capabilities.value.split(/[\s,]+/).filter(Boolean);
    const body = { dialect: dialect.value, ...(names.length > 0 && { capabilities: names }) };
    const name = id.value.trim();
    const answer = await attempt(undefined, () =>
      call<{ key?: string }>('PUT', `v1/agents/${encodeURIComponent(name)}`, { body }),
    );
    problem.value = answer instanceof Problem ? answer : undefined;
    if (answer instanceof Problem) return;
    if (answer.key === undefined) {
      problem.value = new Problem(409, {
        code: 'agent_known',
        detail: `${name} was registered before. Its registration is changed; its key stays.`,
      });
      return;
    }
    done.value = { id: name, key: answer.key, capabilities: names };
  };
  if (done.value) {
    return (
      <Dialog title={`${done.value.id} is registered`} onClose={onClose} isWide>
        <WorkerCode agent={done.value.id} secret={done.value.key} capability={done.value.capabilities[0]} />
        <div class="actions">
          <a class="button" href={href(['agents', done.value.id])}>
            Open {done.value.id}
          </a>
          <Button kind="primary" onClick={onClose}>
            Done
          </Button>
        </div>
      </Dialog>
    );
  }
  return (
    <Dialog title="Register an agent" onClose={onClose}>
      <form class="schema-fields" onSubmit={register}>
        <label>
          Name
          <input
            required
            pattern="[a-z0-9][a-z0-9_\-]*"
            title="Small letters, digits, - and _"
            value={id.value}
            onInput={(event) => (id.value = event.currentTarget.value)}
          />
        </label>
        <label>
          Protocol
          <select value={dialect.value} onChange={(event) => (dialect.value = event.currentTarget.value)}>
            {(dialects.length > 0 ? dialects : ['native']).map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
          <span class="hint">
            The SDKs and the command line use native. Choose another one for an agent that already speaks it.
          </span>
        </label>
        <label>
          <span>
            Capabilities <span class="muted">optional</span>
          </span>
          <input
            placeholder="security.briefing, report.render"
            value={capabilities.value}
            onInput={(event) => (capabilities.value = event.currentTarget.value)}
          />
          <span class="hint">What it can do. None for an agent that only gives work.</span>
        </label>
        {problem.value && <ProblemNote problem={problem.value} />}
        <div class="actions">
          <Button onClick={onClose}>Not now</Button>
          <Button type="submit" kind="primary">
            Register
          </Button>
        </div>
      </form>
    </Dialog>
  );
};
