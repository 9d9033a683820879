import { failure, type Outcome } from '../outcome.js';
import type { Run } from './driver.js';

/**
 * Refuses a job when `here`, the JSON text of the session's searched schemas, differs from the path it was made for; null when
 * they match (HD-31).
 */
export function refuseOtherPath({ searchPath }: Pick<Run, 'searchPath'>, here: string | null | undefined): Outcome | null {
  if (searchPath === null) return null;
  const found = JSON.parse(here ?? '[]') as string[];
  const isSame = found.length === searchPath.length && found.every((schema, index) => schema === searchPath[index]);
  return isSame
    ? null
    : failure('not_started', `search_path mismatch: approved for ${shown(searchPath)}, here it is ${shown(found)}`);
}

const shown = (path: readonly string[]) => JSON.stringify(path.join(', '));
