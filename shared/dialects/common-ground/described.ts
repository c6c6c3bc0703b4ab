import type { Described } from '../../relay/on-nats.ts';
import { CommonGroundMessage } from './schema.ts';
import { VERSION } from './subject.ts';

const ground = `cg.${VERSION}.{project}.{channel}`;
const { headers, payload } = CommonGroundMessage.shape;

export const described: Described = {
  channels: {
    groundCommands: {
      address: `${ground}.cmd.{component}.{target}.{suffix}`,
      summary: 'Commands; bells for workers',
      actions: ['send', 'receive'],
    },
    groundEvents: {
      address: `${ground}.evt.{component}.{target}.{suffix}`,
      summary: 'What becomes of turns',
      actions: ['send'],
    },
    groundStreams: {
      address: `${ground}.str.{component}.{target}.{suffix}`,
      summary: 'Chunks, on core NATS',
      actions: ['receive'],
    },
  },
  parts: { headers, payload },
};
