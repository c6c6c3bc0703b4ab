import * as z from 'zod';

const positive = z.number().int().positive();

const MessageRoutingSettings = z.strictObject({
  silentMs: positive
    .default(30_000)
    .describe('An agent of this dialect is unhealthy after this time without a sign of life.'),
  acknowledgeMs: positive.default(60_000).describe('The time after which a missing acknowledgement causes an event.'),
  inboxLimit: positive
    .max(1000)
    .default(100)
    .describe('How many messages an inbox holds. Tasks and their outcomes do not count.'),
  messageBytes: positive
    .min(10 * 1024)
    .max(1024 * 1024)
    .default(10 * 1024)
    .describe('The size of a message of this dialect.'),
});

const agentId = z.string().regex(/^[a-z0-9_-]{1,64}$/, 'must be 1 to 64 of a-z, 0-9, _ and -');
const streamName = z.string().regex(/^[A-Za-z0-9_-]{1,255}$/, 'must be 1 to 255 of a-z, A-Z, 0-9, _ and -');

const RoundTableSubjects = z.strictObject({
  prefix: z
    .string()
    .regex(/^(?!(?:parley|cg)$)[A-Za-z0-9_-]{1,64}$/, 'must be 1 to 64 of a-z, A-Z, 0-9, _ and -, and not parley or cg')
    .default('roundtable')
    .describe('The first token of all subjects: `roundtable.tasks.<domain>.<action>`.'),
  requester: agentId
    .optional()
    .describe('The agent that asks for tasks whose message names no sender, as those of an operator of knights.'),
  tasksRetention: z
    .enum(['workqueue', 'limits'])
    .default('workqueue')
    .describe('How the stream of tasks keeps them, if the relay creates it. Some knights read only from `limits`.'),
  streams: z
    .strictObject({
      tasks: streamName.default('ROUNDTABLE_TASKS').describe('The stream of tasks.'),
      results: streamName.default('ROUNDTABLE_RESULTS').describe('The stream of results.'),
      events: streamName.default('ROUNDTABLE_EVENTS').describe('The stream of claims and progress.'),
      heartbeat: streamName.default('ROUNDTABLE_HEARTBEAT').describe('The stream of heartbeats.'),
      broadcast: streamName.default('ROUNDTABLE_BROADCAST').describe('The stream of broadcasts.'),
    })
    .prefault({})
    .describe('The names of the streams that the relay creates if no stream has their subjects.'),
});
export type RoundTableSubjects = z.output<typeof RoundTableSubjects>;

const RoundTableSettings = z.strictObject({
  version: z
    .string()
    .regex(/^\d+\.\d+(\.\d+)?$/)
    .default('1.0')
    .describe('The protocol version. Messages of another major version are rejected.'),
  nats: z
    .record(z.string(), RoundTableSubjects)
    .default({})
    .describe('Subjects and streams on NATS, by project. A project that is not named has the defaults.'),
});

const CommonGroundSettings = z.strictObject({
  version: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,32}$/, 'must be 1 to 32 of A-Z, a-z, 0-9, _ and -')
    .default('v1r3')
    .describe(
      'The version in the subjects of turns that are not called with a message, such as `v1r4`. Messages of `v1r3`, `v1r4` and this version are accepted. Any other name is spoken as `v1r3`.',
    ),
  defaultSender: agentId
    .optional()
    .describe(
      'The agent that sends the unsigned messages on NATS whose `CG-Sender` names no agent. Tool commands count as sent by the agent that they name. Without it such messages are rejected.',
    ),
});

const A2aSettings = z.strictObject({
  publicProject: z
    .string()
    .regex(/^[a-z0-9-]{1,32}$/, 'must be 1 to 32 of a-z, 0-9 and -')
    .optional()
    .describe('The project whose agent cards anybody may read. By default every card needs a key.'),
  address: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe('The address in agent cards. By default the one that the request was sent to.'),
  blockSeconds: positive
    .max(3600)
    .default(240)
    .describe('How long `SendMessage` waits for the task. On AWS, a call ends after 27 s in any case.'),
});

/** Mistakes that only the other settings show. */
export const checkDialectSettings = (settings: DialectSettings, projects: string[]): string[] => {
  const { publicProject } = settings.a2a;
  const named = [
    ...Object.keys(settings['round-table'].nats).map((project) => ({ project, at: `round-table.nats.${project}` })),
    ...(publicProject === undefined ? [] : [{ project: publicProject, at: 'a2a.publicProject' }]),
  ];
  return named
    .filter(({ project }) => !projects.includes(project))
    .map(({ project, at }) => `dialects.${at}: there is no project ${project}`);
};

/** Of a project that the configuration does not name. */
export const DEFAULT_ROUND_TABLE_SUBJECTS = RoundTableSubjects.parse({});

export const DialectSettings = z.strictObject({
  a2a: A2aSettings.prefault({}),
  'common-ground': CommonGroundSettings.prefault({}),
  'message-routing': MessageRoutingSettings.prefault({}),
  'round-table': RoundTableSettings.prefault({}),
});
export type DialectSettings = z.output<typeof DialectSettings>;
