import { executeQuery } from './execute-query.js';
import { explainPolicy } from './explain-policy.js';
import { findSimilar } from './find-similar.js';
import { inspectSchema } from './inspect-schema.js';
import { listPending } from './list-pending.js';
import { migrateStatus } from './migrate-status.js';
import { preflightSql } from './preflight-sql.js';
import type { Tool } from './tool.js';
import { waitRequest } from './wait-request.js';
import { whoCanApprove } from './who-can-approve.js';

/** In the order of MC-40. */
export const tools: readonly Tool[] = [
  executeQuery,
  migrateStatus,
  waitRequest,
  listPending,
  whoCanApprove,
  findSimilar,
  explainPolicy,
  inspectSchema,
  preflightSql,
];
