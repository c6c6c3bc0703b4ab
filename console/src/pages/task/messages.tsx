import { useSignal } from '@preact/signals';
import { get } from '../../api/call.ts';
import type { Task } from '../../api/types.ts';
import { useResource } from '../../state/resource.ts';
import { JsonView } from '../../ui/json-view.tsx';
import { Card, Loaded } from '../../ui/page.tsx';
import { useDialects } from './dialects.ts';

/** The newest message about a task, as agents of two protocols read it, side by side. */
export const Messages = ({ task }: { task: Task }) => {
  const dialects = useDialects();
  const left = useSignal(task.dialect);
  const right = useSignal(task.dialect === 'agent-os' ? 'round-table' : 'agent-os');
  return (
    <Card title="The message in each protocol" aside={<span class="muted">the newest one about this task</span>}>
      <div class="pair">
        {[left, right].map((chosen, index) => (
          <div key={index === 0 ? 'left' : 'right'}>
            <select
              aria-label={index === 0 ? 'Protocol' : 'Protocol beside it'}
              value={chosen.value}
              onChange={(event) => (chosen.value = event.currentTarget.value)}
            >
              {dialects.map((name) => (
                <option key={name} value={name}>
                  {name}
                  {name === task.dialect ? ' (of the requester)' : ''}
                </option>
              ))}
            </select>
            <Message key={chosen.value} task={task} dialect={chosen.value} />
          </div>
        ))}
      </div>
    </Card>
  );
};

const Message = ({ task, dialect }: { task: Task; dialect: string }) => {
  const message = useResource(`message ${task.id} ${dialect} ${task.state}`, (abort) =>
    get<unknown>(`v1/tasks/${encodeURIComponent(task.id)}`, { dialect }, abort),
  );
  return <Loaded from={message}>{(value) => <JsonView value={value} label={`the message in ${dialect}`} />}</Loaded>;
};
