import { useSignal } from '@preact/signals';
import { call } from '../../api/call.ts';
import { Problem } from '../../api/problem.ts';
import type { Task } from '../../api/types.ts';
import { isHeldState, isOpenState } from '../../model/task-state.ts';
import { go, href } from '../../state/router.ts';
import { canOperate } from '../../state/session.ts';
import { Button } from '../../ui/basics.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { attempt } from '../../ui/toast.tsx';

/** What can be done now; a key that only reads sees none of it. */
export const TaskActions = ({ task, onChange }: { task: Task; onChange: () => void }) => {
  const isCancelling = useSignal(false);
  const isEditing = useSignal(false);
  if (!canOperate.value) return null;
  const act = async (verb: string, done: string): Promise<void> => {
    await attempt(done, () =>
      call('POST', `v1/tasks/${encodeURIComponent(task.id)}/${verb}`, verb === 'release' ? { body: {} } : {}),
    );
    onChange();
  };
  return (
    <>
      {task.deadLettered && (
        <Button kind="primary" icon="retry" onClick={() => act('retry', 'Queued again')}>
          Retry
        </Button>
      )}
      {isHeldState(task.state) && (
        <Button
          icon="undo"
          onClick={() => act('release', 'Back in its queue')}
          title="Take it from its holder, and put it back into its queue"
        >
          Release
        </Button>
      )}
      {!isOpenState(task.state) && (
        <Button icon="send" onClick={() => (isEditing.value = true)}>
          Run again…
        </Button>
      )}
      {isOpenState(task.state) && (
        <Button icon="cross" kind="danger" onClick={() => (isCancelling.value = true)}>
          Cancel…
        </Button>
      )}
      {isCancelling.value && (
        <Dialog title="Cancel this task?" onClose={() => (isCancelling.value = false)}>
          <p>
            {task.metadata.agent ? `${task.metadata.agent} is told to stop. ` : 'Nobody will get it. '}
            {task.from} learns that it is cancelled. Open subtasks are cancelled too.
          </p>
          <div class="actions">
            <Button onClick={() => (isCancelling.value = false)}>Keep it</Button>
            <Button
              kind="danger"
              onClick={async () => {
                await act('cancel', 'Cancelled');
                isCancelling.value = false;
              }}
            >
              Cancel the task
            </Button>
          </div>
        </Dialog>
      )}
      {isEditing.value && <RunAgain task={task} onClose={() => (isEditing.value = false)} />}
    </>
  );
};

const RunAgain = ({ task, onClose }: { task: Task; onClose: () => void }) => {
  const text = useSignal(JSON.stringify(task.payload ?? {}, undefined, 2));
  const wrong = useSignal<string | undefined>(undefined);
  const run = async (): Promise<void> => {
    let input: unknown;
    try {
      input = JSON.parse(text.value);
    } catch (error) {
      wrong.value = `This is not JSON: ${(error as Error).message}`;
      return;
    }
    const again = await attempt('Requested', () =>
      call<Task>('POST', `v1/tasks/${encodeURIComponent(task.id)}/rerun`, { body: { input } }),
    );
    if (again instanceof Problem) wrong.value = again.message;
    else {
      onClose();
      go(href(['tasks', again.id]));
    }
  };
  return (
    <Dialog title="Run again with another input" onClose={onClose} isWide>
      <p class="muted">
        A new task of <strong>{task.from}</strong> for <code>{task.type}</code>. This one stays as it is.
      </p>
      <label>
        Input
        <textarea
          rows={12}
          spellcheck={false}
          class="mono"
          value={text.value}
          onInput={(event) => (text.value = event.currentTarget.value)}
        />
      </label>
      {wrong.value && (
        <p class="bad-text" role="alert">
          {wrong.value}
        </p>
      )}
      <div class="actions">
        <Button onClick={onClose}>Not now</Button>
        <Button kind="primary" icon="send" onClick={run}>
          Request it
        </Button>
      </div>
    </Dialog>
  );
};
