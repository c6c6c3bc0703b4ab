import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { call, get } from '../../api/call.ts';
import { Problem } from '../../api/problem.ts';
import type { Agent } from '../../api/types.ts';
import { useResource } from '../../state/resource.ts';
import { go, href } from '../../state/router.ts';
import { getOwnAgent } from '../../state/session.ts';
import { Button, ProblemNote } from '../../ui/basics.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { SchemaForm, toInitial } from '../../ui/schema-form.tsx';
import { attempt } from '../../ui/toast.tsx';
import { CONSOLE_AGENT, ensureConsoleAgent } from '../submit/request-task.ts';
import { MISSED, type Schedule, toPath } from './schedule.ts';

interface ScheduleDialogProps {
  /** Absent for a new one. */
  schedule?: Schedule;
  onClose: () => void;
}

const TIMES = [
  ['0 6 * * 1-5', 'Working days at 6:00'],
  ['0 * * * *', 'Every hour'],
  ['*/15 * * * *', 'Every 15 minutes'],
  ['0 9 * * 1', 'Mondays at 9:00'],
] as const;

export const ScheduleDialog = ({ schedule, onClose }: ScheduleDialogProps) => {
  const agents = useResource('agents of schedules', (abort) =>
    get<{ agents: Agent[] }>('v1/agents', { limit: 100 }, abort),
  );
  const id = useSignal(schedule?.scheduleId ?? '');
  const cron = useSignal(schedule?.cron ?? '0 6 * * 1-5');
  const capability = useSignal(schedule?.task.capability ?? '');
  const missed = useSignal(schedule?.missed ?? 'once');
  const input = useSignal<unknown>(schedule?.task.input ?? {});
  const wrong = useSignal<string | undefined>(undefined);
  const problem = useSignal<Problem | undefined>(undefined);
  const all = agents.data.value?.agents ?? [];
  const names = [...new Set(all.flatMap(({ capabilities = [] }) => capabilities))].toSorted();
  const schema = all.find(({ schemas }) => schemas?.[capability.value])?.schemas?.[capability.value]?.input;
  useEffect(() => {
    if (capability.value !== schedule?.task.capability) input.value = toInitial(schema) ?? {};
  }, [schema]);
  const save = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (wrong.value !== undefined) return;
    const answer = await attempt(schedule ? 'Changed' : 'Scheduled', async () => {
      const from = schedule?.from ?? getOwnAgent() ?? CONSOLE_AGENT;
      if (from === CONSOLE_AGENT) await ensureConsoleAgent();
      const task = { ...schedule?.task, capability: capability.value, input: input.value ?? {} };
      const isForOther = getOwnAgent() === undefined && { agent: from };
      const body = {
        ...isForOther,
        cron: cron.value,
        task,
        missed: missed.value,
        status: schedule?.status ?? 'active',
      };
      await call('PUT', toPath(id.value.trim()), { body });
    });
    problem.value = answer instanceof Problem ? answer : undefined;
    if (answer instanceof Problem) return;
    onClose();
    if (!schedule) go(href(['schedules', id.value.trim()]));
  };
  return (
    <Dialog title={schedule ? `Change ${schedule.scheduleId}` : 'New schedule'} onClose={onClose}>
      <form class="schema-fields" onSubmit={save}>
        {!schedule && (
          <label>
            Name
            <input
              required
              pattern="[A-Za-z0-9][\w.\-]{0,63}"
              title="Letters, digits, -, _ and ."
              placeholder="daily-briefing"
              value={id.value}
              onInput={(event) => (id.value = event.currentTarget.value)}
            />
          </label>
        )}
        <label>
          Times, in UTC
          <input
            required
            class="mono"
            spellcheck={false}
            value={cron.value}
            onInput={(event) => (cron.value = event.currentTarget.value)}
          />
          <span class="hint">Minute, hour, day of the month, month and day of the week; * for any.</span>
        </label>
        <p class="chips">
          {TIMES.map(([times, label]) => (
            <button
              key={times}
              type="button"
              class="chip plain"
              aria-pressed={cron.value === times}
              onClick={() => (cron.value = times)}
            >
              {label}
            </button>
          ))}
        </p>
        <label>
          Capability
          <input
            required
            list="scheduled-capabilities"
            placeholder="security.briefing"
            value={capability.value}
            onInput={(event) => (capability.value = event.currentTarget.value)}
          />
          <datalist id="scheduled-capabilities">
            {names.map((name) => (
              <option key={name} value={name} />
            ))}
          </datalist>
        </label>
        <fieldset>
          <legend>Input</legend>
          <SchemaForm key={schema ? capability.value : ''} schema={schema} value={input} problem={wrong} />
        </fieldset>
        <label>
          Runs that an outage swallowed
          <select value={missed.value} onChange={(event) => (missed.value = event.currentTarget.value)}>
            {Object.entries(MISSED).map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        </label>
        {wrong.value && (
          <p class="bad-text" role="alert">
            {wrong.value}
          </p>
        )}
        {problem.value && <ProblemNote problem={problem.value} />}
        <div class="actions">
          <Button onClick={onClose}>Not now</Button>
          <Button type="submit" kind="primary">
            {schedule ? 'Change' : 'Schedule'}
          </Button>
        </div>
      </form>
    </Dialog>
  );
};
