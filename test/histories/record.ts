import { readdirSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { startVitest } from 'vitest/node';

// Records every path of the workflows anew: npx tsx test/histories/record.ts
const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = new URL('./', import.meta.url);
for (const name of readdirSync(folder)) if (name.endsWith('.json')) rmSync(new URL(name, folder));
process.env.SVC_TEST_RECORD = '1';
const vitest = await startVitest('test', [], { root, watch: false, project: ['histories'] });
await vitest.close();
