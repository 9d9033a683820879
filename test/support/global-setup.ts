import type { TestProject } from 'vitest/node';
import { openEngines } from './engines.js';

declare module 'vitest' {
  export interface ProvidedContext {
    engines: string;
  }
}

/** Opens the shared engines for the whole run and stops at its end those that were used. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const engines = await openEngines();
  project.provide('engines', engines.address);
  return engines.close;
}
