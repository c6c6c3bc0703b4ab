import config from '../../parley.config.ts';
import { getEncoder } from '../../shared/dialects/encoder-registry.ts';
import { DIALECT_NAMES, getDialect, resolveDialect } from '../../shared/dialects/registry.ts';
import { ParleyError } from '../../shared/kernel/errors.ts';
import { isJsonObject, type JsonObject } from '../../shared/kernel/json/json.ts';
import { parseTrace } from '../../shared/kernel/trace.ts';
import type { TaskRequestCommand } from '../../shared/model/command.ts';
import type { Task } from '../../shared/model/task.ts';
import { type Command, EXIT, ExitError, getText, UsageError } from '../command.ts';
import { parseJsonArgument } from '../json-argument.ts';

const readMessage = (file: string): JsonObject => {
  const message = parseJsonArgument(file === '-' ? file : `@${file}`, file);
  if (isJsonObject(message)) return message;
  throw new UsageError('A message must be an object.');
};

/** Who sends it, where the message does not say. */
const SENDER = 'sender';

const validate: Command = {
  name: 'validate',
  summary: 'Say which dialect a message is, and what is wrong with it',
  args: 'FILE',
  arity: [1, 1],
  options: { dialect: '<dialect> the one that it should be' },
  examples: ['parley validate message.json', 'parley validate - --dialect round-table < message.json'],
  run: async ({ args: [file = ''], options, out }) => {
    const message = readMessage(file);
    try {
      const dialect = resolveDialect(message, getText(options, 'dialect'));
      const { kind } = dialect.decode(message, config, SENDER);
      if (out.isJson) out.json({ valid: true, dialect: dialect.name, kind });
      else out.line(`valid: ${dialect.name}, ${kind}`);
    } catch (error) {
      if (!(error instanceof ParleyError)) throw error;
      const { code, message: detail, issues = [], details } = error;
      if (out.isJson) out.json({ valid: false, code, detail, issues, ...details });
      else {
        out.line(`${detail} (${code})`);
        for (const issue of issues) out.line(`  ${issue.path}: ${issue.message}`);
      }
      throw new ExitError(EXIT.rejected);
    }
  },
};

/** As the task that the request would become. */
const toTask = (command: TaskRequestCommand, dialect: string): Task => {
  const now = Date.now();
  const { taskId, capability, domain, from, to, priority, ttlSeconds, parent, conversation, user, extensions } =
    command;
  return {
    pk: taskId,
    sk: 'task',
    v: 1,
    token: '',
    at: now,
    project: 'default',
    id: taskId,
    dialect,
    status: 'requested',
    priority,
    from,
    capability,
    createdAt: now,
    ttlSeconds,
    deadline: now + ttlSeconds * 1000,
    queueGeneration: 1,
    queuedAt: now,
    requeueCount: 0,
    attempt: 1,
    maxAttempts: 3,
    input: { json: command.input },
    extensions,
    fingerprint: command.fingerprint,
    traceparent: command.trace?.traceparent ?? parseTrace(undefined).traceparent,
    ...(to !== undefined && { to }),
    ...(domain !== undefined && { domain }),
    ...(parent !== undefined && { parent }),
    ...(conversation !== undefined && { conversation }),
    ...(user !== undefined && { user }),
  };
};

const translate: Command = {
  name: 'translate',
  summary: 'Show a request as another dialect has it',
  args: 'FILE',
  arity: [1, 1],
  options: { to: `<dialect> ${DIALECT_NAMES.join(', ')}`, dialect: '<dialect> the one that the file is in' },
  examples: ['parley translate request.json --to agent-os'],
  run: async ({ args: [file = ''], options, out }) => {
    const to = getText(options, 'to');
    if (!to) throw new UsageError(`--to names a dialect: ${DIALECT_NAMES.join(', ')}.`);
    const message = readMessage(file);
    const source = resolveDialect(message, getText(options, 'dialect'));
    const command = source.decode(message, config, SENDER);
    if (command.kind !== 'request') throw new UsageError(`Only requests are translated; this is a ${command.kind}.`);
    out.json(getEncoder(getDialect(to)).encodeRequest(toTask(command, source.name), command.input));
  },
};

export { translate, validate };
