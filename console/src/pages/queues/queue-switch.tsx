import { useSignal } from '@preact/signals';
import { call } from '../../api/call.ts';
import { Problem } from '../../api/problem.ts';
import type { Queue } from '../../api/types.ts';
import { Button } from '../../ui/basics.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { attempt } from '../../ui/toast.tsx';

/** Agents themselves are paused on their own pages. */
export const QueueSwitch = ({ queue, reload }: { queue: Queue; reload: () => void }) => {
  const isAsking = useSignal(false);
  const reason = useSignal('');
  if (queue.agent !== undefined) return null;
  const path = `v1/queues/${encodeURIComponent(queue.id)}`;
  const resume = async (): Promise<void> => {
    await attempt('Its tasks are handed out again', () => call('POST', `${path}/resume`));
    reload();
  };
  const pause = async (event: Event): Promise<void> => {
    event.preventDefault();
    const why = reason.value.trim();
    const answer = await attempt('Its tasks wait until it is resumed', () =>
      call('POST', `${path}/pause`, { body: { ...(why !== '' && { reason: why }) } }),
    );
    if (!(answer instanceof Problem)) isAsking.value = false;
    reload();
  };
  if (queue.paused) {
    return (
      <Button icon="play" onClick={resume}>
        Resume
      </Button>
    );
  }
  return (
    <>
      <Button icon="pause" onClick={() => (isAsking.value = true)}>
        Pause…
      </Button>
      {isAsking.value && (
        <Dialog title={`Pause ${queue.id}?`} onClose={() => (isAsking.value = false)}>
          <form class="schema-fields" onSubmit={pause}>
            <p>Nobody is handed its tasks until it is resumed. Tasks that agents hold go on.</p>
            <label>
              <span>
                Reason <span class="muted">optional</span>
              </span>
              <input
                placeholder="Shown to whoever looks at the queue"
                value={reason.value}
                onInput={(event) => (reason.value = event.currentTarget.value)}
              />
            </label>
            <div class="actions">
              <Button onClick={() => (isAsking.value = false)}>Not now</Button>
              <Button type="submit" kind="primary">
                Pause the queue
              </Button>
            </div>
          </form>
        </Dialog>
      )}
    </>
  );
};
