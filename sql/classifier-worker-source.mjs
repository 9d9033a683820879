import { existsSync } from 'node:fs';

// Starts the thread of the classifier where the program runs from sources. A build starts classifier-worker.js directly. Tests name that of the current
// build: reading the sources takes most of a second for each thread, the build a fifth of that.
const built = process.env.SVC_TEST_CLASSIFIER_WORKER;
if (built !== undefined && existsSync(built)) await import(built);
else {
  // tsx's `--import` does not reach threads.
  const { register } = await import('tsx/esm/api');
  register();
  await import('./classifier-worker.ts');
}
