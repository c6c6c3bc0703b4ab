import { writeFileSync } from 'node:fs';
import { testParley } from '../../support/test-parley.ts';
import { recordExamples } from './record.ts';

/** Writes the examples of the OpenAPI document: run it when a call is new, or is answered otherwise. */

const cleanUps: (() => unknown)[] = [];
const examples = await recordExamples(await testParley({ after: (cleanUp) => cleanUps.push(cleanUp) }));
const file = new URL('../../../shared/http/examples.json', import.meta.url);
writeFileSync(file, `${JSON.stringify(examples, null, 2)}\n`);
for (const cleanUp of cleanUps) await cleanUp();
