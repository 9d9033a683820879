import { existsSync } from 'node:fs';

// Starts the judging thread where the program runs from sources. A build starts judge-worker.js directly. Tests name that of the current
// build: reading the sources takes most of a second for each thread, the build a fifth of that.
const built = process.env.SVC_TEST_JUDGE_WORKER;
if (built !== undefined && existsSync(built)) await import(built);
else {
  // tsx's `--import` does not reach threads.
  const { register } = await import('tsx/esm/api');
  register();
  await import('./judge-worker.ts');
}
