import { writeFileSync } from 'node:fs';
import { REFERENCE_FOLDER, renderReference } from './reference.ts';
import { renderSdkTypes, SDK_TYPES } from './sdk-types.ts';

for (const [name, text] of Object.entries(renderReference())) writeFileSync(new URL(name, REFERENCE_FOLDER), text);
for (const [name, text] of Object.entries(renderSdkTypes())) writeFileSync(new URL(name, SDK_TYPES), text);
