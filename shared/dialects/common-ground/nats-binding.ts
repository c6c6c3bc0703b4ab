import { ParleyError } from '../../kernel/errors.ts';
import type { StreamSpec } from '../../nats/relay-plan.ts';
import type { NatsBinding } from '../nats-binding.ts';
import { parseExtensions } from './extensions.ts';
import { type CommonGroundHeaders, getSenderHeader } from './headers.ts';
import { COMMON_GROUND } from './name.ts';
import { COMMON_GROUND_VERSION, formatSubjectPattern, type SubjectCategory } from './subject.ts';
import { listSpokenVersions } from './versions.ts';

const DAY_SECONDS = 86_400;

const KEPT_DAYS = { cmd: 1, evt: 7 } as const;

const formatStreamName = (category: SubjectCategory, version: string): string => `cg_${category}_${version}`;

const buildStreamSpec = (category: 'cmd' | 'evt', version: string): StreamSpec => ({
  name: formatStreamName(category, version),
  subjects: [formatSubjectPattern({ version, category })],
  retention: 'limits',
  storage: 'file',
  maxAgeSeconds: KEPT_DAYS[category] * DAY_SECONDS,
});

/** Of the version that was there first it has no version in its name. */
const formatDurableName = (project: string, version: string): string =>
  `parley-${project}-cg-cmd${version === COMMON_GROUND_VERSION ? '' : `-${version}`}`;

/** CommonGround on its own subjects: commands and events in JetStream, `str` on core NATS. */
export const commonGroundNatsBinding: NatsBinding = {
  listStreams: ({ config }) =>
    listSpokenVersions(config).flatMap((version) => [buildStreamSpec('cmd', version), buildStreamSpec('evt', version)]),
  loadAsyncApiChannels: async () => (await import('./asyncapi-channels.ts')).commonGroundChannels,
  // A task is a turn, unless it is a command to a tool, which is published as it was sent.
  usesLease: (extensions) => parseExtensions(extensions).subject === undefined,
  getPublishedState: (extensions) => {
    const { subject, isAlreadyPublished = false } = parseExtensions(extensions);
    return subject === undefined ? undefined : { isHeard: isAlreadyPublished };
  },
  getTurnRole: (extensions) => parseExtensions(extensions).turnRole,
  says: ['conversation', 'user'],
  // Events are Parley's own to tell, and not taken from others.
  listSources: ({ project, config }) =>
    listSpokenVersions(config).flatMap((version) => [
      {
        stream: formatStreamName('cmd', version),
        durable: formatDurableName(project, version),
        filter: formatSubjectPattern({ version, project, category: 'cmd' }),
      },
      { filter: formatSubjectPattern({ version, project, category: 'str' }) },
    ]),
  matchesSubject: (subject) => subject.startsWith('cg.'),
  toNats: ({ subject, headers, payload }) =>
    typeof subject === 'string'
      ? {
          subject,
          headers: toHeaderStrings(headers),
          payload: payload ?? {},
          core: isStreamSubject(subject) ? true : undefined,
        }
      : undefined,
  fromNats: ({ subject, headers }, payload, { config: { dialects } }) => {
    const hasSender = isStreamSubject(subject) || dialects[COMMON_GROUND].defaultSender !== undefined;
    if (!hasSender) assertSender(headers);
    return { subject, headers, payload };
  },
};

/** The clients of the protocol add it. Over HTTP the key says who sends. */
const assertSender = (headers: CommonGroundHeaders): void => {
  if (getSenderHeader(headers) !== undefined) return;
  throw new ParleyError('protocol_violation', 'CG-Sender is missing: on NATS this header names the agent that sends.', {
    details: { violated: 'CG-Sender' },
    issues: [{ path: 'headers.CG-Sender', message: 'is missing' }],
  });
};

const isStreamSubject = (subject: string): boolean => subject.split('.')[4] === 'str';

const toHeaderStrings = (headers: unknown): Record<string, string> =>
  Object.fromEntries(
    Object.entries(typeof headers === 'object' && headers !== null ? headers : {})
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, String(value)]),
  );
