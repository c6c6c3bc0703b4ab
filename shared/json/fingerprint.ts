import { hash } from 'node:crypto';
import { isObject } from './json.ts';

/** The same for two values that differ only in the order of their keys, as a message may after a detour over another wire. */
export const fingerprint = (value: unknown): string =>
  // 132 of SHA-256's 256 bits: no two messages meet by chance, in a third less of a record that is billed by its size.
  digest(value).slice(0, 22);

/** All 256 bits, for what is known by its content alone: nobody can make two values that share it. */
export const digest = (value: unknown): string => hash('sha256', canonical(value), 'base64url');

/** One text for a value, whatever the order of its keys: sorted, without white space. */
export const canonical = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (!isObject(value)) return JSON.stringify(value) ?? 'null';
  let members = '';
  for (const key of Object.keys(value).sort()) {
    const member = value[key];
    if (member !== undefined) members += `${members && ','}${JSON.stringify(key)}:${canonical(member)}`;
  }
  return `{${members}}`;
};
