import * as z from 'zod';
import { boundedArray } from '../../kernel/json/bounded-schemas.ts';
import { isObject, type JsonObject } from '../../kernel/json/json.ts';

const text = z.string().max(4000);
const link = z.string().max(2048);

const source = z
  .looseObject({ id: text.optional(), name: text.optional(), type: text.optional(), url: link.optional() })
  .refine(
    ({ id, name, url }) => [id, name, url].some((said) => said?.trim()),
    'must name a source, by id, name or url',
  );
const citation = z.looseObject({
  text: text.optional(),
  source: text.optional(),
  date: text.optional(),
  url: link.optional(),
});
const provenance = z.looseObject({
  entity: text.optional(),
  wasGeneratedBy: text.optional(),
  wasDerivedFrom: text.optional(),
  generatedAtTime: text.optional(),
});

/** The bytes of a message are bounded anyway; so many are checked in a few milliseconds. */
const MAX_REFERENCES = 1000;

const evidenceFields = {
  sources: boundedArray(source, { max: MAX_REFERENCES }),
  confidence: z.number().min(0, 'must be 0 to 100').max(100, 'must be 0 to 100'),
  citations: boundedArray(citation, { max: MAX_REFERENCES }),
  provenance: boundedArray(provenance, { max: MAX_REFERENCES }),
};

/** What a response must come with, all of it. */
export const RequiredEvidence = z.looseObject(evidenceFields);
export type Evidence = z.output<typeof RequiredEvidence>;

export const EvidenceChain = z.looseObject({
  sources: evidenceFields.sources.default([]),
  confidence: evidenceFields.confidence.default(0),
  citations: evidenceFields.citations.default([]),
  provenance: evidenceFields.provenance.default([]),
});

export const NO_EVIDENCE = { sources: [], confidence: 0, citations: [], provenance: [] };

/** Evidence law R0: nobody claims to know something, with any confidence, without a source. */
export const isFabricated = (content: unknown, { sources, confidence }: Evidence): boolean =>
  confidence > 0 && sources.length === 0 && hasStatement(content);

/** Whether there is anything in the content, at any depth, that could be true or false. */
const hasStatement = (content: unknown): boolean => {
  if (Array.isArray(content)) return content.some(hasStatement);
  if (isObject(content)) return Object.values(content).some(hasStatement);
  return content !== undefined && content !== null && content !== '';
};

/** What an agent said with confidence in a dialect that has no sources: the agent is the one that can be named. */
export const buildEvidence = (agent: string, share: number | undefined): JsonObject => {
  if (!share) return NO_EVIDENCE;
  const confidence = Number((share * 100).toFixed(6));
  return { ...NO_EVIDENCE, confidence, sources: [{ id: agent, name: agent, type: 'agent' }] };
};
