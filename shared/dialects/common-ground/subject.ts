import { ParleyError } from '../../kernel/errors.ts';
import { CHANNEL_ID } from '../../kernel/ids.ts';

/** The version of the document. What Parley says is first put into it, and then into the version of its reader. */
export const COMMON_GROUND_VERSION = 'v1r3';

export const SUBJECT_CATEGORIES = ['cmd', 'evt', 'str'] as const;
export const SUBJECT_COMPONENTS = ['agent', 'sys', 'user', 'tool'] as const;
export type SubjectCategory = (typeof SUBJECT_CATEGORIES)[number];
export type SubjectComponent = (typeof SUBJECT_COMPONENTS)[number];

/** `cg.{version}.{project}.{channel}.{category}.{component}.{target}.{suffix}`; a suffix may have several tokens. */
export interface Subject {
  version: string;
  project: string;
  channel: string;
  category: SubjectCategory;
  component: SubjectComponent;
  target: string;
  suffix: string;
}

/** Where a subject is built, only what is known of it at that place is said. */
export interface SubjectScope {
  project: string;
  channel: string;
}

const TOKEN = /^[A-Za-z0-9_-]{1,128}$/;
const MAX_SUFFIX_TOKENS = 8;

export const formatSubject = ({ version, project, channel, category, component, target, suffix }: Subject): string =>
  ['cg', version, project, channel, category, component, target, suffix].join('.');

export const formatAgentSubject = (
  place: SubjectScope,
  category: SubjectCategory,
  target: string,
  suffix: string,
): string => formatSubject({ ...place, version: COMMON_GROUND_VERSION, category, component: 'agent', target, suffix });

/** What a subscriber names: a part that is not said may be any, and so may all that follow the last one that is. */
export const formatSubjectPattern = (known: Partial<Subject>): string => {
  const { version = COMMON_GROUND_VERSION, project, channel, category, component, target, suffix } = known;
  const parts = [project, channel, category, component, target, suffix];
  const said = parts.slice(0, parts.findLastIndex((part) => part !== undefined) + 1).map((part) => part ?? '*');
  return ['cg', version, ...said, ...(suffix === undefined ? ['>'] : [])].join('.');
};

/** The parts of a subject that is meant to be published: whole, without wildcards. */
export const parseSubject = (text: string): Subject => {
  const [cg, version = '', project = '', channel = '', category, component, target = '', ...suffix] = text.split('.');
  if (cg !== 'cg') throw subjectViolationError(text, 'must begin with cg');
  if (suffix.length === 0)
    throw subjectViolationError(
      text,
      'must be cg.{version}.{project}.{channel}.{category}.{component}.{target}.{suffix}',
    );
  if (suffix.length > MAX_SUFFIX_TOKENS)
    throw subjectViolationError(text, `has more than ${MAX_SUFFIX_TOKENS} tokens in its suffix`);
  const flawed = [version, project, channel, target, ...suffix].find((token) => !TOKEN.test(token));
  if (flawed !== undefined)
    throw subjectViolationError(
      text,
      `has the token "${flawed.slice(0, 64)}"; 1 to 128 of A-Z, a-z, 0-9, _ and - are allowed`,
    );
  if (!CHANNEL_ID.test(channel))
    throw subjectViolationError(text, `has the channel ${channel}; known: public, u_<user>, t_<thread>`);
  return {
    version,
    project,
    channel,
    category: pickKnown(SUBJECT_CATEGORIES, category, () =>
      subjectViolationError(text, `has the category ${category}; known: ${SUBJECT_CATEGORIES.join(', ')}`),
    ),
    component: pickKnown(SUBJECT_COMPONENTS, component, () =>
      subjectViolationError(text, `has the component ${component}; known: ${SUBJECT_COMPONENTS.join(', ')}`),
    ),
    target,
    suffix: suffix.join('.'),
  };
};

/** The subject, which must be of this project. */
export const parseProjectSubject = (text: string, project: string): Subject => {
  const subject = parseSubject(text);
  if (subject.project !== project)
    throw subjectViolationError(text, `is of the project ${subject.project}, the key of ${project}`);
  return subject;
};

const pickKnown = <T extends string>(
  known: readonly T[],
  value: string | undefined,
  otherwise: () => ParleyError,
): T => {
  const found = known.find((one) => one === value);
  if (found === undefined) throw otherwise();
  return found;
};

const subjectViolationError = (text: string, what: string): ParleyError =>
  new ParleyError('protocol_violation', `The subject ${text.slice(0, 200)} ${what}.`, {
    details: { violated: 'subject' },
    issues: [{ path: 'subject', message: what }],
  });
