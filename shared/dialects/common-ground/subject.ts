import { CHANNEL_ID } from '../../agents/channels.ts';
import { ParleyError } from '../../errors.ts';

/** The version of the protocol that is spoken here. */
export const VERSION = 'v1r3';

export const CATEGORIES = ['cmd', 'evt', 'str'] as const;
export const COMPONENTS = ['agent', 'sys', 'user', 'tool'] as const;
export type Category = (typeof CATEGORIES)[number];
export type Component = (typeof COMPONENTS)[number];

/** `cg.{version}.{project}.{channel}.{category}.{component}.{target}.{suffix}`; a suffix may have several tokens. */
export interface Subject {
  version: string;
  project: string;
  channel: string;
  category: Category;
  component: Component;
  target: string;
  suffix: string;
}

/** Where a subject is built, only what is known of it at that place is said. */
export interface Place {
  project: string;
  channel: string;
}

const TOKEN = /^[A-Za-z0-9_-]{1,128}$/;
const MOST_SUFFIX_TOKENS = 8;

export const subjectText = ({ version, project, channel, category, component, target, suffix }: Subject): string =>
  ['cg', version, project, channel, category, component, target, suffix].join('.');

export const agentSubject = (place: Place, category: Category, target: string, suffix: string): string =>
  subjectText({ ...place, version: VERSION, category, component: 'agent', target, suffix });

/** What a subscriber names: a part that is not said may be any, and so may all that follow the last one that is. */
export const subjectPattern = (known: Partial<Omit<Subject, 'version'>>): string => {
  const { project, channel, category, component, target, suffix } = known;
  const parts = [project, channel, category, component, target, suffix];
  const said = parts.slice(0, parts.findLastIndex((part) => part !== undefined) + 1).map((part) => part ?? '*');
  return ['cg', VERSION, ...said, ...(suffix === undefined ? ['>'] : [])].join('.');
};

/** The parts of a subject that is meant to be published: whole, without wildcards. */
export const parseSubject = (text: string): Subject => {
  const [cg, version = '', project = '', channel = '', category, component, target = '', ...suffix] = text.split('.');
  if (cg !== 'cg') throw violation(text, 'must begin with cg');
  if (suffix.length === 0)
    throw violation(text, 'must be cg.{version}.{project}.{channel}.{category}.{component}.{target}.{suffix}');
  if (suffix.length > MOST_SUFFIX_TOKENS)
    throw violation(text, `has more than ${MOST_SUFFIX_TOKENS} tokens in its suffix`);
  const flawed = [version, project, channel, target, ...suffix].find((token) => !TOKEN.test(token));
  if (flawed !== undefined)
    throw violation(text, `has the token "${flawed.slice(0, 64)}"; 1 to 128 of A-Z, a-z, 0-9, _ and - are allowed`);
  if (!CHANNEL_ID.test(channel))
    throw violation(text, `has the channel ${channel}; known: public, u_<user>, t_<thread>`);
  return {
    version,
    project,
    channel,
    category: oneOf(CATEGORIES, category, () =>
      violation(text, `has the category ${category}; known: ${CATEGORIES.join(', ')}`),
    ),
    component: oneOf(COMPONENTS, component, () =>
      violation(text, `has the component ${component}; known: ${COMPONENTS.join(', ')}`),
    ),
    target,
    suffix: suffix.join('.'),
  };
};

/** The subject, which must be of the version that is spoken here: nothing is known of what others mean. */
export const spokenSubject = (text: string): Subject => {
  const subject = parseSubject(text);
  const { version } = subject;
  if (version === VERSION) return subject;
  throw new ParleyError(
    'unsupported_version',
    `Version ${version} of CommonGround is not spoken here, but ${VERSION}.`,
    {
      facts: { version, supported: VERSION },
    },
  );
};

/** The same, which must be of this project, too. */
export const ownSubject = (text: string, project: string): Subject => {
  const subject = spokenSubject(text);
  if (subject.project !== project) throw violation(text, `is of the project ${subject.project}, the key of ${project}`);
  return subject;
};

const oneOf = <T extends string>(known: readonly T[], value: string | undefined, otherwise: () => ParleyError): T => {
  const found = known.find((one) => one === value);
  if (found === undefined) throw otherwise();
  return found;
};

const violation = (text: string, what: string): ParleyError =>
  new ParleyError('protocol_violation', `The subject ${text.slice(0, 200)} ${what}.`, {
    facts: { violated: 'subject' },
    issues: [{ path: 'subject', message: what }],
  });
