import type { Known } from '../agents/agent.ts';
import { agentBehind, type Caller, type Relay } from '../agents/authenticate.ts';
import { beat, isSignOfLife, noteAlive, say } from '../agents/health.ts';
import { refuseUnlessCoordinator } from '../agents/orders.ts';
import { broadcast } from '../broadcasts/fan-out.ts';
import type { Deps } from '../deps.ts';
import type { Dialect } from '../dialects/dialect.ts';
import { dialectOf } from '../dialects/dialects.ts';
import { ParleyError } from '../errors.ts';
import { canonicalId } from '../ids.ts';
import { fingerprint } from '../json/fingerprint.ts';
import type { JsonObject } from '../json/json.ts';
import { failByThread } from '../notes/fail-by-thread.ts';
import { sendNote } from '../notes/send-note.ts';
import { counted } from '../sequences/sequence.ts';
import { byAnyId } from '../tasks/alias.ts';
import { answerTask } from '../tasks/answer-task.ts';
import { report } from '../tasks/report.ts';
import { submit } from '../tasks/submit.ts';
import type { Trace } from '../trace.ts';
import { refuseViolation } from '../violations/violation.ts';
import type { Command, Done, NoteMessage, OwnMessage } from './command.ts';
import { isLogged } from './is-logged.ts';
import { meant, type TaskCommand } from './meant.ts';
import { countRate } from './rate.ts';
import { saidOnce } from './said-once.ts';
import { checkSignature } from './signature.ts';

export interface Accepted extends Done {
  id: string;
  dialect: string;
  /** By which it can be asked for, where what its sender calls it is not unique. */
  messageId?: string;
  /** What a request names to wait for, and is no task that its sender has to do with. */
  notWaitedFor?: string[];
  /** Of a message to many, by which its way can be followed. */
  broadcastId?: string;
}

export interface Sent {
  caller: Caller | Relay;
  /** The dialect that the sender named, if any. */
  dialect?: string;
  trace: Trace;
  /** To all agents, or to those of a capability or domain, whoever the message itself names. */
  broadcast?: string;
  /** It came in on a subject of its dialect: whoever listens there has heard it. */
  heardOnNats?: true;
  /** Told which task a message is about as soon as that is known, so that whatever is logged from then on says so. */
  note?: (taskId: string) => void;
}

/** One message of any dialect, carried out. */
export const receive = async (deps: Deps, sent: Sent, message: JsonObject): Promise<Accepted> => {
  const dialect = dialectOf(message, sent.dialect);
  const begun = performance.now();
  try {
    const said = understood(deps, sent.caller, dialect, message);
    if (said.kind === 'own') {
      if (sent.broadcast !== undefined) throw toOne(dialect);
      const done = await said.carryOut(deps, await asked(deps, sent, said), sent.trace);
      return { id: said.messageId, dialect: dialect.name, ...done };
    }
    const sender = await agentBehind(deps, sent.caller, said.from);
    checkSignature(deps, sender.agent, message, said.sent?.at);
    await countRate(deps, sender.agent);
    const caller = sent.caller.role === 'relay' ? await inTheNameOf(deps, sent.caller, sender) : sent.caller;
    const audience = sent.broadcast ?? (said.kind === 'note' ? said.audience : undefined);
    const command = await meant(deps, caller, sender, saidTo(audience, said));
    if ('taskId' in command && command.taskId !== undefined) sent.note?.(command.taskId);
    const once = <T>(act: () => Promise<T>): Promise<T> => saidOnce(deps, caller.project, command, act);
    if (audience !== undefined) {
      return await once(() => toMany(deps, caller, sent, dialect.name, audience, command));
    }
    const { duplicate } = await once(() => carryOut(deps, caller, sent.trace, dialect.name, sender, command));
    if (command.sent) await counted(deps, sender.agent.project, command, duplicate);
    if (dialect.isMeasured) deps.measure('message_write_latency_ms', performance.now() - begun);
    const { messageId, givenId = messageId } = command;
    const taskId = 'taskId' in command ? command.taskId : undefined;
    const unique = canonicalId(givenId) === messageId ? undefined : messageId;
    const notWaitedFor = command.kind === 'request' ? command.notWaitedFor : undefined;
    return { id: givenId, dialect: dialect.name, duplicate, messageId: unique, taskId, notWaitedFor };
  } catch (error) {
    throw inWordsOf(dialect, error);
  }
};

const toOne = ({ name }: Dialect): ParleyError =>
  new ParleyError('invalid_request', `A message of ${name} is for whom its subject names: send one to each agent.`);

/** An administrator may call agents in its own name. */
const asked = async (deps: Deps, { caller }: Sent, { from, signed }: OwnMessage): Promise<Caller> => {
  if (caller.role === 'admin') return caller;
  const sender = await agentBehind(deps, caller, from);
  if (signed) checkSignature(deps, sender.agent, signed.message, signed.at);
  await countRate(deps, sender.agent);
  return caller.role === 'relay' ? inTheNameOf(deps, caller, sender) : caller;
};

/** What the relay brings is as if its agent had called. */
const inTheNameOf = async (deps: Deps, { project }: Relay, known: Known): Promise<Caller> => {
  if (isSignOfLife(deps, known)) await noteAlive(deps, known);
  return { project, role: 'agent', known, byRelay: true };
};

const toMany = async (
  deps: Deps,
  caller: Caller,
  { trace, heardOnNats }: Sent,
  dialect: string,
  audience: string,
  command: Command,
): Promise<Accepted> => {
  const { duplicate } = await broadcast(deps, caller, { audience, dialect, trace, heardOnNats }, command);
  const { messageId, givenId = messageId } = command;
  return { id: givenId, dialect, duplicate, broadcastId: messageId };
};

/** A refusal with what the dialect calls it beside it; anything else as it is. */
export const inWordsOf = (dialect: Dialect, error: unknown): unknown => {
  if (!(error instanceof ParleyError)) return error;
  const words = dialect.explained?.(error);
  if (!words) return error;
  const { code, message, issues, retry, cause, facts } = error;
  return new ParleyError(code, message, { issues, retry, cause, facts: { ...facts, ...words } });
};

/** What is not to be logged is not told either, so that it costs nothing. */
export const withTold = <T extends Command>(deps: Deps, dialect: Dialect, { type }: JsonObject, command: T): T => {
  const { messageId, givenId = messageId } = command;
  const told = isLogged(deps.config, dialect)
    ? { id: givenId, type: type ?? command.kind, ...command.told }
    : undefined;
  const { otherwise } = 'otherwise' in command ? command : {};
  return { ...command, told, ...(otherwise && { otherwise: { ...otherwise, told } }) };
};

/** The same words to many are another message than to one. */
const saidTo = (audience: string | undefined, command: TaskCommand): TaskCommand => {
  if (audience === undefined) return command;
  const print = { fingerprint: fingerprint([command.fingerprint, audience]) };
  const { otherwise } = 'otherwise' in command ? command : {};
  return { ...command, ...print, ...(otherwise && { otherwise: { ...otherwise, ...print } }) };
};

const understood = (deps: Deps, caller: Caller | Relay, dialect: Dialect, message: JsonObject): Command => {
  const sender = caller.role === 'agent' ? caller.known.agent.id : undefined;
  try {
    return withTold(deps, dialect, message, dialect.decode(message, deps.config, sender));
  } catch (error) {
    if (error instanceof ParleyError) logRefusal(deps, dialect, error);
    throw error;
  }
};

const logRefusal = (deps: Deps, { name, logsRefusals }: Dialect, { code, issues, facts }: ParleyError): void => {
  const isOtherMajor = code === 'unsupported_version';
  if (!isOtherMajor && !logsRefusals) return;
  const what = isOtherMajor
    ? 'a message of another major version was refused'
    : 'a message that is not valid was refused';
  deps.log('warn', what, {
    dialect: name,
    code,
    issues: issues?.map(({ path, message }) => `${path}: ${message}`),
    ...facts,
  });
};

const carryOut = (
  deps: Deps,
  caller: Caller,
  trace: Trace,
  dialect: string,
  sender: Known,
  command: TaskCommand,
): Promise<{ duplicate: boolean }> => {
  switch (command.kind) {
    case 'request':
      return submit(deps, caller, dialect, command, trace);
    case 'heartbeat':
      return beat(deps, sender, command);
    case 'note':
      return takeNote(deps, caller, trace, dialect, sender, command);
    case 'violation':
      return refuseViolation(deps, caller.project, dialect, command);
    case 'answer':
      return answerTask(deps, caller, command.taskId, command.answer);
    default:
      return byAnyId(deps, caller.project, command.taskId, (taskId) => report(deps, sender, { ...command, taskId }));
  }
};

const takeNote = async (
  deps: Deps,
  caller: Caller,
  trace: Trace,
  dialect: string,
  sender: Known,
  note: NoteMessage,
): Promise<{ duplicate: boolean }> => {
  const isShown = !(await failByThread(deps, sender, note));
  if (note.order) refuseUnlessCoordinator(caller, 'give orders');
  const sent = await sendNote(deps, { project: caller.project, dialect, trace, isShown }, note);
  if (note.saying && !sent.duplicate) await say(deps, sender, note.saying);
  return sent;
};
