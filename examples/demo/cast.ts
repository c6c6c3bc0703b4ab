import { join } from 'node:path';

const EXAMPLES = join(import.meta.dirname, '..');
const node = (file: string): string[] => [process.execPath, join(EXAMPLES, file)];
const python = (file: string): string[] => ['python3', '-u', join(EXAMPLES, file)];

const object = (properties: object, required: string[] = []): object => ({ type: 'object', properties, required });

export interface Member {
  id: string;
  registration: object;
  command: string[];
}

/** Who takes part: each speaks its own protocol, and is a file of its own to start from. */
export const CAST: Member[] = [
  { id: 'tim', registration: { dialect: 'round-table' }, command: node('agents/round-table-requester.ts') },
  {
    id: 'galahad',
    registration: {
      dialect: 'round-table',
      capabilities: ['security.briefing'],
      schemas: {
        'security.briefing': {
          input: object({
            scope: { enum: ['daily', 'weekly'], description: 'How far back it looks' },
            focus: { type: 'array', items: { type: 'string' } },
          }),
        },
      },
    },
    command: node('agents/round-table-worker.ts'),
  },
  { id: 'planner', registration: { dialect: 'agent-os' }, command: node('agents/agent-os-requester.ts') },
  { id: 'analyst', registration: { dialect: 'agent-os' }, command: node('agents/agent-os-worker.ts') },
  {
    id: 'lead',
    registration: { dialect: 'message-routing', role: 'coordinator' },
    command: node('agents/message-routing-requester.ts'),
  },
  { id: 'coder', registration: { dialect: 'message-routing' }, command: python('agents/message_routing_worker.py') },
  { id: 'chef', registration: { dialect: 'task-format' }, command: node('agents/task-format-requester.ts') },
  {
    id: 'kitchen',
    registration: {
      dialect: 'task-format',
      capabilities: ['parse_recipe', 'plan_menu', 'order_food', 'write_invitation', 'set_table'],
    },
    command: python('agents/task_format_worker.py'),
  },
  { id: 'editor', registration: { dialect: 'native' }, command: node('agents/native-requester.ts') },
  {
    id: 'researcher',
    registration: {
      dialect: 'native',
      capabilities: ['intel.report'],
      schemas: {
        'intel.report': { input: object({ topic: { type: 'string', description: 'What it is about' } }, ['topic']) },
      },
    },
    command: node('agents/native-researcher.ts'),
  },
  {
    id: 'library',
    registration: { dialect: 'native', capabilities: ['intel.facts'] },
    command: python('agents/native_library.py'),
  },
  {
    id: 'scanner',
    registration: {
      dialect: 'native',
      capabilities: ['security.scan'],
      schemas: { 'security.scan': { input: object({ host: { type: 'string' } }, ['host']) } },
    },
    command: node('agents/native-scanner.ts'),
  },
  { id: 'traveller', registration: { dialect: 'a2a' }, command: node('agents/a2a-requester.ts') },
  {
    id: 'forecaster',
    registration: { dialect: 'a2a', capabilities: ['intel.weather'] },
    command: node('agents/a2a-worker.ts'),
  },
  { id: 'coach', registration: { dialect: 'common-ground' }, command: node('agents/common-ground-requester.ts') },
  { id: 'merlin', registration: { dialect: 'common-ground' }, command: node('worker/worker.ts') },
  { id: 'calculator', registration: { dialect: 'common-ground' }, command: node('worker/tool-service.ts') },
  { id: 'arthur', registration: { dialect: 'common-ground' }, command: node('agents/common-ground-lead.ts') },
  { id: 'bors', registration: { dialect: 'common-ground' }, command: node('agents/common-ground-scout.ts') },
  { id: 'percival', registration: { dialect: 'common-ground' }, command: node('agents/common-ground-scout.ts') },
];

/** Where a NATS server is on this machine: an agent that knows nothing of HTTP, and one that asks it. */
export const ON_NATS: Member[] = [
  {
    id: 'gatekeeper',
    registration: { dialect: 'native', transport: 'nats', capabilities: ['check_gate'] },
    command: node('agents/nats-worker.ts'),
  },
  { id: 'steward', registration: { dialect: 'native' }, command: node('agents/nats-requester.ts') },
];
