import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Item, Records, Ref } from '../ports/records.ts';

/**
 * Whoever acts for others. The administrator of a project may register agents and speak for them, its relay may speak for those
 * on NATS.
 */
const OFFICES = ['admin', 'relay'] as const;
export type Office = (typeof OFFICES)[number];

export interface OfficeKey extends Item {
  sk: Office;
  keyHash: string;
}

export const officeRef = (project: string, office: Office): Ref<OfficeKey> => ({
  pk: `${project}#${office}`,
  sk: office,
});

/** What an office's key has where an agent's has the agent. No agent id can look like it. */
export const ADMIN = '@admin';
export const RELAY = '@relay';
export const officeNamed = (owner: string): Office | undefined => OFFICES.find((office) => owner === `@${office}`);
const KEY = /^prl_([a-z0-9-]{1,32})\.(@admin|@relay|[a-z0-9_-]{1,64})\.([A-Za-z0-9_-]{43})$/;

/** A key names whom it belongs to; 256 random bits prove it. */
export const newKey = (project: string, owner: string): string =>
  `prl_${project}.${owner}.${randomBytes(32).toString('base64url')}`;

/** A key is random and long, so that a plain hash is enough: there is nothing to guess. */
export const hashOf = (key: string): string => hash('sha256', key, 'base64url');

export const ownerOf = (key: string): { project: string; owner: string } => {
  const [, project, owner] = KEY.exec(key) ?? [];
  // A key of any other form can only be one that an operator chose for the administrator.
  return project && owner ? { project, owner } : { project: 'default', owner: ADMIN };
};

/** Takes the same time wherever the two differ. */
export const matches = (key: string, keyHash: string | undefined): boolean =>
  timingSafeEqual(Buffer.from(hashOf(key)), Buffer.from(keyHash ?? hashOf(''))) && keyHash !== undefined;

/** The key that was set before stops working, here at once and elsewhere within seconds. */
const setKey = (office: Office) => async (records: Records, project: string, key: string, token: string) => {
  await records.update(officeRef(project, office), { set: { keyHash: hashOf(key) } }, token, 'orCreate');
};
export const setAdminKey = setKey('admin');
export const setRelayKey = setKey('relay');
