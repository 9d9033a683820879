import { listResultPairs, listResults } from '../../db/result-list.js';
import { iso } from '../../db/row-types.js';
import { resultReach } from '../../domain/request/relation.js';
import { selectorsOf } from '../../domain/selectors.js';
import type { Services } from '../context.js';
import type { Call } from '../http/route.js';
import { resultPolicy } from './policy.js';

/** `GET /api/results`: exactly the results that the caller could read now, newest first (RS-5, RS-41). */
export async function showResults(
  { caller, generation, query }: Call<undefined, { limit: number }, undefined>,
  services: Services,
) {
  const pairs = await listResultPairs(services.database);
  const open = pairs.flatMap((pair) => {
    const { access, retentionDays } = resultPolicy(services, generation, pair);
    const reach = resultReach(caller, pair, access);
    return reach === 'none' ? [] : [{ ...pair, whole: reach === 'all', selectors: selectorsOf(caller, pair), retentionDays }];
  });
  const rows = await listResults(services.database, caller.id, open, query.limit);
  return {
    results: rows.map((row) => ({
      request_id: row.request_id,
      execution_id: row.execution_id,
      database: row.database,
      environment: row.environment,
      operation: row.operation,
      stored_at: iso(row.stored_at),
      expires_at: iso(row.ends_at),
      content_length: row.content_length,
    })),
  };
}
