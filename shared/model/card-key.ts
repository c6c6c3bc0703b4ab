import { DEFAULT_PROJECT } from '../identity/auth/keys.ts';
import type { Item, Ref } from '../ports/records.ts';

/** What signs the agent cards of a deployment, whatever their project. */
export interface CardKey extends Item {
  sk: 'card-key';
  /** PKCS #8, never shown. */
  privateKey: string;
  x: string;
  y: string;
}

export const CARD_KEY: Ref<CardKey> = { pk: `${DEFAULT_PROJECT}#card-key`, sk: 'card-key' };
