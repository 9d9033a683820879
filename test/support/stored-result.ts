import type { Transaction } from '../../db/client.js';
import { parameters } from '../../db/parameters.js';
import { resultInsert, type StoredResult } from '../../db/results.js';

/** Records a result as the move does that ends its run. */
export async function recordResult(tx: Transaction, requestId: string, result: StoredResult, now: number): Promise<void> {
  const p = parameters();
  const part = resultInsert({ p, request: `${p.add(requestId)}::uuid`, now }, result);
  await tx.query(`with ${part} select 1`, p.values);
}
