import { askEngines } from './ask-engines.js';

/** Address of the run's Temporal dev server (in memory, namespace `default`); use a task queue of your own per test file. */
export async function temporalAddress(): Promise<string> {
  return (await askEngines('/temporal')).address;
}
