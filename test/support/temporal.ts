import { askEngines } from './ask-engines.js';

/**
 * The address of the Temporal dev server of the run (in memory, namespace `default`). Use a task queue of your own in each test
 * file.
 */
export async function temporalAddress(): Promise<string> {
  return (await askEngines('/temporal')).address;
}
