import type { Known } from '../agents/agent.ts';
import { servedDomains } from '../agents/agent.ts';
import { restOf } from '../agents/orders.ts';
import type { Deps } from '../deps.ts';
import { ParleyError } from '../errors.ts';
import type { Json } from '../json/json.ts';
import { refuseTooLarge, type Sized, sized } from '../json/size.ts';
import type { TaskReport } from '../messages/command.ts';
import { loggedDialectOf } from '../messages/is-logged.ts';
import { absent, type Change, isNot } from '../ports/conditions.ts';
import { refuseUnreadable } from './answer-schema.ts';
import { type Artifact, contentsOf, furtherOf, type KeptOutput, keptArtifacts } from './artifacts.ts';
import { changeTask, noTask } from './change-task.ts';
import { discarded, isLarge, kept, unlessRefused } from './content.ts';
import { onSeen, unseen } from './rules.ts';
import { isInHand, roundOf, type Seen, type Task, taskRef } from './task.ts';
import {
  announces,
  asHolder,
  askInput,
  type By,
  complete,
  fail,
  progress,
  type Report,
  renew,
  takes,
} from './transitions.ts';

/** What an agent says about a task: that it takes it, how far it is, how it ended. Each message counts once. */
export const report = async (deps: Deps, sender: Known, message: TaskReport): Promise<{ duplicate: boolean }> => {
  const { agent } = sender;
  const by = byAgent(deps, sender);
  if (message.kind === 'ask') await refuseUnreadable(message.prompt.schema);
  refuseTooLarge('What the message carries', besides(message), deps.config.limits.carriedBytes);
  const output =
    message.kind === 'complete'
      ? refuseTooLarge('The result', message.output, deps.config.limits.outputBytes)
      : undefined;
  let duplicate = false;
  const judging =
    ({ decide }: Planned) =>
    (task: Task): Change | ParleyError | 'unchanged' => {
      duplicate = isRepeated(task, message);
      return duplicate ? onRepeated(task, by, message) : decide(task);
    };
  const artifacts = message.kind === 'complete' ? message.artifacts : undefined;
  if ((output && isLarge(output)) || (artifacts && isLarge(sized(artifacts)))) {
    // Anybody may report on any task: what is large is stored only where it would be taken as things are.
    const task = await deps.records.get(taskRef(agent.project, message.taskId));
    const judged = task ? judging(transitionFor(message, by))(task) : noTask(message.taskId);
    if (judged instanceof Error) throw judged;
    if (duplicate) return { duplicate };
  }
  const stored = output && (await storedOutput(deps, agent.project, message.taskId, output, artifacts));
  const contents = stored ? contentsOf(stored) : [];
  const planned = transitionFor(message, by, stored);
  const done = await unlessRefused(deps.blobs, contents, () =>
    changeTask(deps, agent.project, message.taskId, planned.blind, judging(planned)),
  );
  if (done.outcome === 'unchanged') await discarded(deps.blobs, contents, contentsOf(done.record));
  return { duplicate };
};

export const byAgent = (deps: Deps, known: Known): By => ({
  agent: known.agent.id,
  domains: servedDomains(known),
  skills: known.agent.capabilities,
  rest: restOf(known, deps.clock.now()),
  heardIn: loggedDialectOf(deps.config, known.agent),
  now: deps.clock.now(),
  limits: deps.config.tasks,
});

interface Planned {
  /** What is tried without a look at the task, where that can be said beforehand. */
  blind?: Change;
  decide: (task: Task) => Change | ParleyError | 'unchanged';
}

const transitionFor = (message: TaskReport, by: By, stored?: KeptOutput): Planned => {
  const seen: Seen = { id: message.messageId, fingerprint: message.fingerprint };
  const { isKnownByContent, attempt, sent } = message;
  const told: Report = { seen, isKnownByContent, attempt, told: message.told, sent };
  switch (message.kind) {
    case 'claim':
      return {
        decide: (task) => {
          if (task.holder !== by.agent || task.endedAt !== undefined) {
            return isDoneBy(task, by.agent) ? 'unchanged' : takes(task, by, told, message.note);
          }
          return task.claimNote === undefined ? announces(task, by, told, message.note) : 'unchanged';
        },
      };
    case 'progress':
      return { decide: (task) => progress(task, by, told, { ...message.progress, told: message.told, at: by.now }) };
    case 'complete': {
      const completed = complete(by, told, stored?.output ?? { json: message.output }, message.carried, {
        artifacts: stored?.artifacts,
        confidence: message.confidence,
      });
      // Only where the id cannot be that of an earlier message about the task.
      const blind = unseen(completed, absent('seen'), isNot('claimedBy.id', message.messageId));
      return { blind, decide: (task) => asHolder(task, by, () => completed) };
    }
    case 'fail':
      return { decide: (task) => fail(task, by, told, message.error, message.carried) };
    case 'ask':
      return { decide: (task) => askInput(task, by, told, message.prompt) };
  }
};

/** It says late that it took what it has completed since. */
const isDoneBy = ({ status, holder }: Task, agent: string): boolean => status === 'completed' && holder === agent;

const storedOutput = async (
  deps: Deps,
  project: string,
  taskId: string,
  said: Sized<Json>,
  files: Artifact[] | undefined,
): Promise<KeptOutput> => {
  const [output, artifacts] = await Promise.all([
    kept(deps, project, taskId, said),
    files && keptArtifacts(deps, project, taskId, files),
  ]);
  return { output, artifacts };
};

/** What is kept in the record itself. */
const besides = (message: TaskReport): unknown => {
  if (message.kind === 'claim') return message.note;
  if (message.kind === 'ask') return message.prompt;
  if (message.kind === 'progress') return message.progress;
  return message.kind === 'complete' ? [message.carried, message.artifacts?.map(furtherOf)] : message.carried;
};

/** The very same message once more. The same id with other content is a mistake. */
const isRepeated = (task: Task, message: TaskReport): boolean => {
  const known = [task.claimedBy, task.endedBy, ...(task.seen ?? [])].findLast((seen) => seen?.id === message.messageId);
  if (!known || isSaidAnew(task, known, message)) return false;
  if (known.fingerprint === message.fingerprint) return true;
  throw new ParleyError(
    'id_reused',
    `An earlier message about the task with the id ${message.messageId} had other content. Repeat a message unchanged; give a new one a new id.`,
  );
};

/** Who holds the task in a later round than that of its words means them anew. From anybody else they come late, or twice. */
const isSaidAnew = (task: Task, { round }: Seen, { from }: TaskReport): boolean =>
  round !== undefined && round < roundOf(task) && isInHand(task) && task.holder === from;

/** Who says the same words again to show that it is alive has no other way to say it. */
const onRepeated = (task: Task, by: By, { kind, isKnownByContent }: TaskReport): Change | 'unchanged' => {
  const renewed = kind === 'progress' && isKnownByContent ? onSeen(task, renew(by)) : 'unchanged';
  return renewed instanceof Error ? 'unchanged' : renewed;
};
