import { fileURLToPath } from 'node:url';
import { startVitest } from 'vitest/node';

// Records every path of the workflows anew: npx tsx test/histories/record.ts
const root = fileURLToPath(new URL('../..', import.meta.url));
const vitest = await startVitest('test', [], { root, watch: false, include: ['test/histories/recorded-paths.ts'] });
await vitest.close();
