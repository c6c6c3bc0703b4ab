import { useSignal } from '@preact/signals';
import { call } from '../api/call.ts';
import { Problem } from '../api/problem.ts';
import type { Task } from '../api/types.ts';
import { canOperate } from '../state/session.ts';
import { Button } from './basics.tsx';
import { SchemaForm, toInitial } from './schema-form.tsx';
import { attempt } from './toast.tsx';

const isYesNo = (schema: Task['input']): boolean => schema?.schema?.type === 'boolean';

/** The question of a task, with a form for its answer. */
export const AnswerForm = ({ task, onAnswer }: { task: Task; onAnswer: () => void }) => {
  const question = task.input;
  const value = useSignal<unknown>(toInitial(question?.schema));
  const problem = useSignal<string | undefined>(undefined);
  const answer = async (input: unknown): Promise<void> => {
    const told = await attempt('Answered', () =>
      call('POST', `v1/tasks/${encodeURIComponent(task.id)}/input`, { body: { input } }),
    );
    problem.value = told instanceof Problem ? told.message : undefined;
    if (!(told instanceof Problem)) onAnswer();
  };
  const submit = (event: Event): void => {
    event.preventDefault();
    if (value.value === undefined) problem.value = 'Fill in the answer first.';
    else void answer(value.value);
  };
  return (
    <form class="answer-form" onSubmit={submit}>
      <p class="prompt">{question?.prompt ?? 'It waits for input.'}</p>
      {canOperate.value &&
        (isYesNo(question) ? (
          <div class="actions start">
            <Button kind="primary" icon="check" onClick={() => answer(true)}>
              Yes
            </Button>
            <Button icon="cross" onClick={() => answer(false)}>
              No
            </Button>
          </div>
        ) : (
          <>
            <SchemaForm schema={question?.schema} value={value} problem={problem} />
            <div class="actions start">
              <Button type="submit" kind="primary" icon="check">
                Answer
              </Button>
            </div>
          </>
        ))}
      {problem.value && (
        <p class="bad-text" role="alert">
          {problem.value}
        </p>
      )}
    </form>
  );
};
