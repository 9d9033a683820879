import type { SQLNamespace } from '@codemirror/lang-sql';
import { useMemo } from 'preact/hooks';
import { answer, api, type Schema } from '../../http/client.js';
import { useLoaded } from '../../state/loaded.js';

const nothing: SQLNamespace = {};

/** The tables and columns of the snapshot, for completion; nothing where there is none. */
export function useNames(database: string, environment: string): SQLNamespace {
  const { value } = useLoaded(`names ${database} ${environment}`, async (signal) => {
    if (database === '') return null;
    const params = { path: { database }, query: { environment } };
    return answer(api.GET('/api/schemas/{database}', { params, signal })).catch(() => null);
  });
  const tables = value?.tables as Schema['Table'][] | undefined;
  return useMemo(() => (tables === undefined ? nothing : namesOf(tables)), [tables]);
}

function namesOf(tables: readonly Schema['Table'][]): SQLNamespace {
  const names: Record<string, Record<string, string[]> | string[]> = {};
  for (const { schema_name, name, columns } of tables) {
    const shown = (columns ?? []).map((column) => column.name);
    names[schema_name === 'public' ? name : `${schema_name}.${name}`] = shown;
  }
  return names as SQLNamespace;
}
