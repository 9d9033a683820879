import { inject } from 'vitest';
import type { EngineAnswers } from './engines.js';
import type {} from './global-setup.js';

/** Asks the run for a shared engine, which starts when first asked for. */
export async function askEngines<Path extends keyof EngineAnswers>(path: Path): Promise<EngineAnswers[Path]> {
  const response = await fetch(inject('engines') + path);
  const body = (await response.json()) as EngineAnswers[Path] & { error?: string };
  if (!response.ok) throw new Error(body.error);
  return body;
}
