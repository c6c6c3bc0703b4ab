#!/usr/bin/env node
import '../local/check-node.mjs';

await import('./main.ts');
