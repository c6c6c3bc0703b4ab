import { ParleyError } from '../kernel/errors.ts';

/** What has no major version that can be read is left to the schema. */
export const assertSameMajorVersion = (version: unknown, spoken: string): void => {
  const [major] = /^\d{1,4}(?=\.\d)/.exec(typeof version === 'string' ? version : '') ?? [];
  if (major === undefined || Number(major) === Number.parseInt(spoken, 10)) return;
  throw new ParleyError(
    'unsupported_version',
    `Version ${version} is not compatible with ${spoken}, which is spoken here.`,
    { details: { version: String(version), supported: spoken } },
  );
};
