import type { NatsDescription } from '../nats-binding.ts';
import { CommonGroundMessage } from './schema.ts';

const SUBJECT_ROOT = 'cg.{version}.{project}.{channel}';
const { headers, payload } = CommonGroundMessage.shape;

export const commonGroundChannels: NatsDescription = {
  channels: {
    groundCommands: {
      address: `${SUBJECT_ROOT}.cmd.{component}.{target}.{suffix}`,
      summary: 'Commands; bells for workers',
      actions: ['send', 'receive'],
    },
    groundEvents: {
      address: `${SUBJECT_ROOT}.evt.{component}.{target}.{suffix}`,
      summary: 'What becomes of turns',
      actions: ['send'],
    },
    groundStreams: {
      address: `${SUBJECT_ROOT}.str.{component}.{target}.{suffix}`,
      summary: 'Chunks, on core NATS',
      actions: ['receive'],
    },
  },
  parts: { headers, payload },
};
