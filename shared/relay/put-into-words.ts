import type { Agent } from '../agents/agent.ts';
import { offererOnNats } from '../agents/offers-on-nats.ts';
import { batchRef } from '../batches/batch.ts';
import { broadcastRef } from '../broadcasts/broadcast.ts';
import type { Deps } from '../deps.ts';
import type { Dialect } from '../dialects/dialect.ts';
import { dialectNamed, dialects } from '../dialects/dialects.ts';
import { encoderOf } from '../dialects/encoders.ts';
import { idFrom } from '../ids.ts';
import type { Outcome } from '../inbox/delivery.ts';
import { batchInWords, noteInWords, outcomeInWords } from '../inbox/in-words.ts';
import type { JsonObject } from '../json/json.ts';
import { noteRef } from '../notes/note.ts';
import { isOver } from '../notes/note-changes.ts';
import { keepAlias } from '../tasks/alias.ts';
import { requestInWords } from '../tasks/hand-over.ts';
import { type Reported, type Task, taskRef } from '../tasks/task.ts';
import { inboxSubject, type NatsMessage } from './nats-message.ts';
import type { About } from './on-nats.ts';
import type { Ask, Presence } from './relayed.ts';
import type { Worded } from './words.ts';

type Said = Omit<NatsMessage, 'id'> | { skip: string };

/** Puts what waits for the relay into the words of whoever it is for, on the subject where that one listens. */
export const putIntoWords = async (
  deps: Deps,
  project: string,
  ask: Ask,
  { id, isTooLarge = false }: { id: string; isTooLarge?: boolean | undefined },
): Promise<Worded> => {
  const said = await wordsFor(deps, project, ask, isTooLarge);
  return 'skip' in said ? said : { publish: { ...said, id } };
};

/** What a message holds itself where it was too large before: with its artifacts that is still less than any server allows by default. */
const SMALL_BYTES = 64 * 1024;

const spokenIn = (dialect: Dialect, isTooLarge: boolean): Dialect =>
  isTooLarge ? { ...dialect, contentBytes: Math.min(SMALL_BYTES, dialect.contentBytes ?? SMALL_BYTES) } : dialect;

const wordsFor = (deps: Deps, project: string, ask: Ask, isTooLarge: boolean): Promise<Said> => {
  switch (ask.kind) {
    case 'request':
      return requestToReader(deps, project, ask, isTooLarge);
    case 'report':
      return reportInWords(deps, { ...ask.task, project });
    case 'outcome':
      return outcomeToReader(deps, project, { ...ask.outcome, task: { ...ask.outcome.task, project } }, isTooLarge);
    case 'note':
      return noteToReader(deps, project, ask, isTooLarge);
    case 'batch':
      return batchEnded(deps, project, ask.batchId, isTooLarge);
    case 'broadcast':
      return broadcastInWords(deps, project, ask.broadcastId);
    case 'presence':
      return presenceInWords(deps, project, ask);
  }
};

const requestToReader = async (
  deps: Deps,
  project: string,
  { taskId, entry }: Extract<Ask, { kind: 'request' }>,
  isTooLarge: boolean,
): Promise<Said> => {
  const task = await deps.records.get(taskRef(project, taskId));
  if (task?.status !== 'requested' || task.entry !== entry) return { skip: 'it is no longer requested' };
  if (task.deadline <= deps.clock.now()) return { skip: 'it has expired' };
  const reader = await readerOf(deps, task);
  const dialect = reader ? dialectNamed(reader.dialect) : domainsDialect();
  if (!dialect) return { skip: 'no dialect has subjects for domains' };
  const id = nameOf(task, dialect);
  if (id !== task.id) await keepAlias(deps, project, id, task.id);
  const message = await requestInWords(deps, task, spokenIn(dialect, isTooLarge), reader?.id, id);
  return addressed(deps, task, dialect, message, reader?.id);
};

/**
 * Whoever the task is for; of those who have its capability one after the other, each time that it is sent. It is for all of them
 * even so: whoever claims it has it.
 */
const readerOf = async (deps: Deps, task: Task): Promise<Agent | undefined> => {
  const { project, id, to, skill, entry, resent } = task;
  if (to !== undefined) return (await deps.directory.agent(project, to))?.agent;
  if (skill === undefined) return undefined;
  const first = Number.parseInt(idFrom(id).slice(0, 8), 16);
  return offererOnNats(deps, project, task, first + entry + resent);
};

/** Agents on NATS take an id that they have seen for a repetition: each further attempt goes out under an id of its own. */
const nameOf = ({ id, entry }: Task, { spoken }: Dialect): string =>
  entry > 1 ? idFrom(`${id}#${entry}`) : (spoken?.(id) ?? id);

const domainsDialect = (): Dialect | undefined => dialects.find(({ onNats }) => onNats?.namesDomains);

const reportInWords = async (deps: Deps, task: Reported): Promise<Said> => {
  if (await hasBeenHeard(deps, task.project, task.holder, task.from)) return { skip: 'it was said on NATS' };
  return toReader(deps, task, task.from, async (dialect) => encoderOf(dialect).encodeReport(task));
};

const outcomeToReader = async (deps: Deps, project: string, outcome: Outcome, isTooLarge: boolean): Promise<Said> => {
  const { from, to, task } = outcome;
  if (await hasBeenHeard(deps, project, from, to)) return { skip: 'it was said on NATS' };
  return toReader(deps, task, to, (dialect) => outcomeInWords(deps, project, outcome, spokenIn(dialect, isTooLarge)));
};

const noteToReader = async (
  deps: Deps,
  project: string,
  { from, noteId }: Extract<Ask, { kind: 'note' }>,
  isTooLarge: boolean,
): Promise<Said> => {
  const note = await deps.records.get(noteRef(project, from, noteId));
  if (!note) return { skip: 'it is no longer kept' };
  if (isOver(note, deps.clock.now())) return { skip: 'its time to live is over' };
  const topic = { ...note, domain: undefined, isToSome: note.toNats === 'with others' };
  return toReader(deps, topic, note.to, (dialect) => noteInWords(deps, note, spokenIn(dialect, isTooLarge)));
};

/** What one agent on NATS said on the subjects of its dialect, all others of that dialect have heard there. */
const hasBeenHeard = async (deps: Deps, project: string, speaker: string | undefined, listener: string) => {
  const [said, heard] = await Promise.all([agentOnNats(deps, project, speaker), agentOnNats(deps, project, listener)]);
  return said?.dialect === heard?.dialect && said !== undefined && dialectNamed(said.dialect).onNats !== undefined;
};

const agentOnNats = async (deps: Deps, project: string, id: string | undefined): Promise<Agent | undefined> => {
  const known = id === undefined ? undefined : await deps.directory.agent(project, id);
  return known?.agent.via === 'nats' ? known.agent : undefined;
};

/** What a message is about. */
type Topic = Pick<Task, 'project' | 'traceparent' | 'domain'> & Pick<About, 'isToSome'>;

const toReader = async (
  deps: Deps,
  topic: Topic,
  to: string,
  encode: (dialect: Dialect) => Promise<JsonObject>,
): Promise<Said> => {
  const reader = await deps.directory.agent(topic.project, to);
  if (!reader) return { skip: `no agent ${to} is registered` };
  const dialect = dialectNamed(reader.agent.dialect);
  return addressed(deps, topic, dialect, await encode(dialect), to);
};

const addressed = (
  { config }: Deps,
  { project, traceparent, domain, isToSome }: Topic,
  dialect: Dialect,
  message: JsonObject,
  to: string | undefined,
): Said => {
  const own = dialect.onNats?.outgoing(message, { project, config, domain, isToSome });
  if (!own && to === undefined) return { skip: 'nobody on NATS serves it' };
  const { headers, ...rest } = own ?? { subject: inboxSubject(project, to ?? ''), payload: message };
  return { headers: { traceparent, ...headers }, ...rest };
};

const batchEnded = async (deps: Deps, project: string, batchId: string, isTooLarge: boolean): Promise<Said> => {
  const batch = await deps.records.get(batchRef(project, batchId));
  if (!batch) return { skip: 'it is no longer kept' };
  const topic = { ...batch, domain: undefined };
  return toReader(deps, topic, batch.from, (dialect) => batchInWords(deps, batch, spokenIn(dialect, isTooLarge)));
};

const broadcastInWords = async (deps: Deps, project: string, broadcastId: string): Promise<Said> => {
  const broadcast = await deps.records.get(broadcastRef(project, broadcastId));
  if (!broadcast) return { skip: 'it is no longer kept' };
  const { command, heardOnNats, createdAt, traceparent } = broadcast;
  const dialect = dialectNamed(broadcast.dialect);
  const message = command.kind === 'note' ? encoderOf(dialect).encodeBroadcast?.(command, createdAt) : undefined;
  if (!message) return { skip: 'each that it is for has it in its inbox' };
  if (heardOnNats) return { skip: 'it was said on NATS' };
  return addressed(deps, { project, traceparent, isToSome: true }, dialect, message, undefined);
};

const presenceInWords = async (deps: Deps, project: string, { agent, isOnline, at }: Presence): Promise<Said> => {
  const known = await deps.directory.agent(project, agent);
  const dialect = known && dialectNamed(known.agent.dialect);
  return dialect?.onNats?.presence?.(agent, isOnline, at) ?? { skip: 'nobody on NATS is told of it' };
};
