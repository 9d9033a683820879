import { failure, OTHER_PATH, type Outcome } from '../outcome.js';
import type { Run } from './driver.js';

/**
 * Refuses a job when `here`, the JSON text of the session's searched schemas, differs from the path it was made for; null when
 * they match (HD-31).
 */
export function refuseOtherPath(
  { searchPath, unresolvedFences }: Pick<Run, 'searchPath' | 'unresolvedFences'>,
  here: string | null | undefined,
): Outcome | null {
  if (searchPath === null) return null;
  const found = JSON.parse(here ?? '[]') as string[];
  const isSame = found.length === searchPath.length && found.every((schema, index) => schema === searchPath[index]);
  if (isSame) return null;
  // What a lost attempt did must be known before anybody makes the request again.
  const advice = unresolvedFences.length === 0 ? '; make the request again after the next schema sync' : '';
  return failure('not_started', `${OTHER_PATH}: approved for ${shown(searchPath)}, here it is ${shown(found)}${advice}`);
}

const shown = (path: readonly string[]) => JSON.stringify(path.join(', '));
