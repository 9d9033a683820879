import type { SharedConfig } from '../config/types.js';
import { equalText, sha256Hex } from '../crypto/hash.js';
import type { Queryable } from '../db/client.js';
import { latestGeneration } from '../db/generations.js';
import { findCredentials } from '../db/tokens.js';
import { can } from '../domain/permissions.js';
import { storedCaller } from '../domain/stored-caller.js';
import { prefixOf, tokenStatus } from '../domain/token-rules.js';

/**
 * Whether an `Authorization` header opens the metrics of a worker (OP-3, OP-20): an API token of an active user who holds
 * `metrics.view`. 401 or 403 otherwise.
 */
export async function judgeMetricsReader(
  database: Queryable,
  own: SharedConfig['auth'],
  header: string | undefined,
): Promise<200 | 401 | 403> {
  const credential = /^bearer (\S+)$/i.exec(header ?? '')?.[1] ?? '';
  const prefix = prefixOf(credential);
  if (prefix === null) return 401;
  const hash = sha256Hex(credential);
  const found = (await findCredentials(database, prefix)).find((row) => equalText(row.tokenHash, hash));
  if (found === undefined || tokenStatus(found, found.now) !== 'active') return 401;
  if (found.subjectType === 'agent') return 403;
  if (found.userStatus !== 'active') return 401;
  const config = (await latestGeneration(database))?.content.auth ?? own;
  const caller = storedCaller(found, config);
  return typeof caller !== 'string' && can(caller, 'metrics.view', 'everywhere') ? 200 : 403;
}
