import type { PairNames } from '../format/filter-fields.js';
import { answer, api } from '../http/client.js';
import { useLoaded } from './loaded.js';

/** The names of the pairs that the caller may see; none before they are known, and where they may not be asked for. */
export function usePairNames(): PairNames {
  const { value } = useLoaded('pair names', (signal) => answer(api.GET('/api/databases', { signal })));
  const of = (part: 'database' | 'environment') => [...new Set(value?.databases.map((pair) => pair[part]))].sort();
  return { database: of('database'), environment: of('environment') };
}
