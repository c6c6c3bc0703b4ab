import { globSync, readFileSync } from 'node:fs';

/** Functions are verbs, an exported name has one meaning, and words of the glossary have no synonyms. */

const files = globSync('{cdk,functions,shared,local,relay}/**/*.ts').sort();
const users = files.concat(globSync('{test,bench,docs,examples,sdk}/**/*.ts'), 'parley.config.ts');
const texts = new Map(users.map((file) => [file, readFileSync(file, 'utf8')]));
const withoutComments = (text: string): string => text.replaceAll(/\/\*[\s\S]*?\*\/|(^|\s)\/\/.*$/gm, '$1');

const IRREGULAR_PARTICIPLES = new Set(
  `begun bound brought built chosen done drawn forgotten found given gone grown heard held hidden kept known laid left lent
  lost made met meant paid run said seen sent shown slept sold sown spent spoken struck taken taught thought thrown told
  torn understood woken won written`.split(/\s+/),
);
/** Verbs that look like participles. */
const VERBS = new Set(['embed', 'exceed', 'feed', 'need', 'proceed', 'run', 'seed', 'speed', 'succeed']);

const isParticiple = (name: string): boolean =>
  !VERBS.has(name) && (IRREGULAR_PARTICIPLES.has(name) || /^[a-z]{2,}ed$/.test(name));

const DECLARATION = /\bconst (\w+)(?:: [^=\n]+)? = (?:async )?(?:<[^=(]*>)?(?=\()|\bfunction\*? (\w+)(?=[<(])/g;
const METHOD = /^ {2}(?:(?:static|async|get|set) )*\*?#?(\w+)(?:<[^>\n]*>)?\([^;{}]*\)(?:: [^;{}=]+)? \{$/gm;

/** The end of the parentheses that open at a position. */
const findClosing = (text: string, open: number): number => {
  for (let at = open, depth = 0; at < text.length; at++) {
    if (text[at] === '(') depth += 1;
    else if (text[at] === ')') depth -= 1;
    if (depth === 0) return at;
  }
  return text.length;
};

const listFunctions = (file: string): string[] => {
  const text = withoutComments(texts.get(file) ?? '');
  const declared = [...text.matchAll(DECLARATION)].flatMap(({ 0: head, 1: constant, 2: named, index }) => {
    if (named !== undefined) return named;
    const after = text.slice(findClosing(text, index + head.length) + 1, index + head.length + 1500);
    return constant !== undefined && /^(?:: [^=;]+)? =>/.test(after) ? constant : [];
  });
  return [...declared, ...[...text.matchAll(METHOD)].flatMap(([, method]) => method ?? [])];
};

const functions = files.flatMap((file) => listFunctions(file).map((name) => ({ file, name })));
const participles = functions.filter(({ name }) => isParticiple(name));
const genitives = functions.filter(({ name }) => /[a-z](?:Of|In|By)$/.test(name));

const EXPORT = /^export (?:abstract )?(?:async )?(?:const|function\*?|class|interface|type) (\w+)/gm;
const exported = files.flatMap((file) =>
  [...new Set([...(texts.get(file) ?? '').matchAll(EXPORT)].map(([, name = '']) => name))].map((name) => ({
    file,
    name,
  })),
);
/** Every dialect has these functions, and every Lambda function its handler. */
const BY_CONTRACT = /^shared\/dialects\/.*\/(?:en|de)code\.ts$|^functions\/[\w-]+\.ts$/;
const declarations = Map.groupBy(
  exported.filter(({ file }) => !BY_CONTRACT.test(file)),
  ({ name }) => name,
);
const ambiguous = [...declarations].flatMap(([name, places]) =>
  places.length > 1 ? `${name} is exported by ${places.map(({ file }) => file).join(' and ')}` : [],
);

/** What the glossary has another word for: a word is listed once nothing says it any more. */
const REPLACED =
  /\b(?:proviso|sayable|offerers?|hurry|withered|sower|sprout|unseen|onSeen|heldPlace|whither|wakened|putIntoWords|carryOut|tellable|stocks?|naps?|seats?|office|surroundings)\b/gi;
const synonyms = files.flatMap((file) =>
  [...(texts.get(file) ?? '').matchAll(REPLACED)].map(
    ([word]) => `${file} says ${word}: see docs/concepts/glossary.md`,
  ),
);

const toPercent = (part: unknown[]): number => (100 * part.length) / functions.length;
const violations = [...ambiguous, ...synonyms];
if (toPercent(participles) >= 1) violations.push(`participles: ${participles.map(({ name }) => name).join(', ')}`);
if (toPercent(genitives) >= 3)
  violations.push(`names in Of, In or By: ${genitives.map(({ name }) => name).join(', ')}`);
for (const violation of violations) console.error(violation);
console.log(
  `${functions.length} functions, ${toPercent(participles).toFixed(2)} % bare participles, ${toPercent(genitives).toFixed(2)} % in Of, In or By; ${exported.length} exported names, ${ambiguous.length} with several declarations; ${synonyms.length} replaced words`,
);
process.exitCode = violations.length > 0 ? 1 : 0;
