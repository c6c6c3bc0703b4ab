import { writeFileSync } from 'node:fs';
import { REFERENCE_FOLDER, renderReference } from './reference.ts';

for (const [name, text] of Object.entries(renderReference())) writeFileSync(new URL(name, REFERENCE_FOLDER), text);
