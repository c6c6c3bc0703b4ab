#!/usr/bin/env node
import module from 'node:module';
import '../local/check-node.mjs';

// Most of a short command is reading its own sources. An older Node.js has no such cache.
module.enableCompileCache?.();
await import('./main.ts');
