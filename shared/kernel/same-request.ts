import { ParleyError } from './errors.ts';

/** A caller repeats a request whose answer was lost; other content under its id is a mistake. */
export const assertSameRequest = (earlier: object | undefined, fingerprint: string, what: string): void => {
  if (earlier && 'fingerprint' in earlier && earlier.fingerprint === fingerprint) return;
  throw idReusedError(what);
};

export const idReusedError = (what: string): ParleyError =>
  new ParleyError(
    'id_reused',
    `An earlier ${what} had other content. Repeat it unchanged, or give a new one a new id.`,
  );

export const assertSameMessage = (
  earlier: object | undefined,
  { messageId, givenId = messageId, fingerprint }: { messageId: string; givenId?: string; fingerprint: string },
): void => assertSameRequest(earlier, fingerprint, `message with the id ${givenId}`);
