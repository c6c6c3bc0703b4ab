import * as z from 'zod';
import { AGENT_ID } from '../../identity/agents/agent.ts';
import { boundedArray } from '../../kernel/json/bounded-schemas.ts';
import type { JsonObject } from '../../kernel/json/json.ts';
import { parseOrThrow } from '../../kernel/json/parse-or-throw.ts';
import { MAX_MANIFEST_AGENTS, type ManifestAgent } from '../dialect.ts';

const text = z.string().max(4000);
const names = boundedArray(z.string().min(1).max(128), { max: 256 }).optional();

const entry = z.looseObject({
  id: z.string().regex(AGENT_ID, 'must be 1 to 64 of a-z, 0-9, _ and -'),
  name: text.optional(),
  version: z.string().max(64).optional(),
  category: text.optional(),
  description: text.optional(),
  dependencies: names,
  policies: names,
  capabilities: names,
  tier: z.union([text, z.number()]).optional(),
});

export const AgentOsManifest = z.looseObject({
  agents: boundedArray(entry, { min: 1, max: MAX_MANIFEST_AGENTS }).refine(
    (agents) => new Set(agents.map(({ id }) => id)).size === agents.length,
    'names an agent twice',
  ),
});

/** The agents of an AGENTOS_MANIFEST. Each entry is kept whole, and shown with its agent. */
export const parseManifest = (file: JsonObject): ManifestAgent[] =>
  parseOrThrow(AgentOsManifest, file, 'invalid_request', 'The manifest').agents.map(
    ({ id, capabilities = [], ...more }) => ({
      id,
      capabilities,
      manifest: Object.fromEntries(Object.entries({ id, capabilities, ...more })),
    }),
  );
