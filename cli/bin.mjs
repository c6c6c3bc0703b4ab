#!/usr/bin/env node
await import('./main.ts');
