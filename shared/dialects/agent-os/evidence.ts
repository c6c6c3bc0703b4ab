import * as z from 'zod';
import { isObject } from '../../json/json.ts';

const text = z.string().max(4000);
const link = z.string().max(2048);

const source = z
  .looseObject({ id: text.optional(), name: text.optional(), type: text.optional(), url: link.optional() })
  .refine(({ id, name, url }) => Boolean(id || name || url), 'must name a source, by id, name or url');
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

const chain = {
  sources: z.array(source).max(100),
  confidence: z.number().min(0, 'must be 0 to 100').max(100, 'must be 0 to 100'),
  citations: z.array(citation).max(100),
  provenance: z.array(provenance).max(100),
};

/** What a response must come with, all of it. */
export const RequiredEvidence = z.looseObject(chain);
export type Evidence = z.output<typeof RequiredEvidence>;

export const EvidenceChain = z.looseObject({
  sources: chain.sources.default([]),
  confidence: chain.confidence.default(0),
  citations: chain.citations.default([]),
  provenance: chain.provenance.default([]),
});

export const NO_EVIDENCE = { sources: [], confidence: 0, citations: [], provenance: [] };

/** Evidence law R0: nobody claims to know something, with any confidence, without a source. */
export const isFabricated = (content: unknown, { sources, confidence }: Evidence): boolean =>
  confidence > 0 && sources.length === 0 && states(content);

/** Whether the content says something that could be true or false: an answer, data, or any text. */
const states = (content: unknown): boolean => {
  if (isObject(content)) return says(content.answer) || says(content.data);
  return says(content);
};

const says = (value: unknown): boolean => {
  if (value === undefined || value === null || value === '') return false;
  if (Array.isArray(value)) return value.length > 0;
  return !isObject(value) || Object.keys(value).length > 0;
};
