import { BUILTIN_REVIEW } from '../../config/shared.js';
import { outsideDatabaseWork } from '../../db/call-limit.js';
import type { Caller, Pair } from '../../domain/caller.js';
import { refusal } from '../../domain/errors.js';
import { readBundle } from '../../domain/migration/detail.js';
import { can } from '../../domain/permissions.js';
import type { Operation } from '../../domain/policies.js';
import type { Dialect } from '../../domain/statement.js';
import { matchPolicy } from '../../domain/workflow-policy.js';
import { type MigrationReview, reviewMigrations } from '../../sql/review-migrations.js';
import type { Generation, Services } from '../context.js';

export type JudgedBundle =
  | { ok: true; dirSha256: string; statements: number; review: MigrationReview & { policyId: string } }
  /** AP-22, MI-16: `path` is the place of the text that is refused. */
  | { ok: false; path: string; reason: string; unparsed: boolean };

/** Judges a bundle's statements by its pair's rules; the same for a creation and a preflight. A breach of MI-15 or MI-17 is 400. */
export async function judgeBundle(
  services: Services,
  generation: Generation,
  asked: Pair & { operation: 'migrate_up' | 'migrate_down'; detail: string; place: string; dialect: Dialect | null },
  caller: Caller,
): Promise<JudgedBundle> {
  const { migrations, dirSha256 } = readBundle(asked.detail, asked.operation === 'migrate_down' ? 'down' : 'up', asked.place);
  const verdict = await outsideDatabaseWork(() => services.judge.reviewMigrations(migrations, asked.dialect, caller.id));
  if (!verdict.ok && verdict.busy)
    throw refusal('service.unavailable', 'SQL texts cannot be judged at the moment', 'try again later');
  if (!verdict.ok)
    return {
      ok: false,
      path: `migrations[${verdict.at}].${verdict.key}`,
      reason: verdict.reason,
      unparsed: verdict.parseFailure === true,
    };
  const policy = matchPolicy(generation.shared.sqlReview, asked) ?? BUILTIN_REVIEW;
  const versions = migrations.map(({ version }) => version);
  return {
    ok: true,
    dirSha256,
    statements: verdict.reviewed.reduce((sum, { statements }) => sum + statements, 0),
    review: { ...reviewMigrations(versions, verdict.reviewed, policy), policyId: policy.id },
  };
}

/** RQ-21 for migrations. */
export function mayMigrate(
  caller: Caller,
  pair: Pair,
  operation: Operation,
  { emergency, allowDdl }: { emergency: boolean; allowDdl: boolean },
): boolean {
  const may = (permission: Parameters<typeof can>[1]) => can(caller, permission, pair);
  if (allowDdl && !may('request.break_glass_ddl')) return false;
  const writes = emergency ? may('request.break_glass_dml') : may('request.dml') && operation !== 'migrate_repair';
  if (operation !== 'migrate_status') return writes;
  return writes || may(emergency ? 'request.break_glass_query' : 'request.query');
}
