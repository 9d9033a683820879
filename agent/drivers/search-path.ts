import { failure, type Outcome } from '../outcome.js';
import type { Run } from './driver.js';

/** Why the job does not run where `here`, as JSON text, names the schemas that the session searches; null when they are those that it was made for (HD-31). */
export function refuseOtherPath({ searchPath }: Pick<Run, 'searchPath'>, here: string | null | undefined): Outcome | null {
  if (searchPath === null) return null;
  const found = JSON.parse(here ?? '[]') as string[];
  const isSame = found.length === searchPath.length && found.every((schema, index) => schema === searchPath[index]);
  return isSame
    ? null
    : failure('not_started', `search_path mismatch: approved for ${shown(searchPath)}, here it is ${shown(found)}`);
}

const shown = (path: readonly string[]) => JSON.stringify(path.join(', '));
