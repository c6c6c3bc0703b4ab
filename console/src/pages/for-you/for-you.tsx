import type { Task } from '../../api/types.ts';
import { usePaged } from '../../state/pages.ts';
import { href } from '../../state/router.ts';
import { AnswerForm } from '../../ui/answer-form.tsx';
import { Button, Empty, Loading, ProblemNote, Time } from '../../ui/basics.tsx';
import { Card, Page } from '../../ui/page.tsx';

/** Everything that waits for a person, answered where it stands. */
export const ForYou = () => {
  const questions = usePaged<Task>('v1/tasks', 'tasks', { waits: 'true' }, ({ type }) =>
    /^task\.(input_|completed|failed|cancelled|expired|released)/.test(type),
  );
  const { data, problem, hasMore, loadMore, reload } = questions;
  return (
    <Page title="For you" name="For you" lead="What agents ask, and what waits until someone answers.">
      {problem.value && <ProblemNote problem={problem.value} onRetry={reload} />}
      {!data.value && !problem.value && <Loading />}
      {data.value?.length === 0 && (
        <Card>
          <Empty title="Nobody waits for you">A question of an agent appears here by itself.</Empty>
        </Card>
      )}
      {data.value?.map((task) => (
        <Card
          key={task.id}
          title={
            <>
              {task.metadata.agent ?? 'An agent'} asks {task.from}
            </>
          }
          aside={
            <span class="muted">
              <a href={href(['tasks', task.id])}>{task.type}</a> · requested <Time at={task.createdAt} />
            </span>
          }
        >
          <AnswerForm task={task} onAnswer={reload} />
        </Card>
      ))}
      {hasMore.value && <Button onClick={loadMore}>Show more</Button>}
    </Page>
  );
};
