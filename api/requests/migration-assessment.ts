import { BUILTIN_REVIEW } from '../../config/shared.js';
import { outsideDatabaseWork } from '../../db/call-limit.js';
import type { Caller, Pair } from '../../domain/caller.js';
import { refusal } from '../../domain/errors.js';
import { readBundle } from '../../domain/migration/detail.js';
import type { Permission } from '../../domain/permission-table.js';
import { can } from '../../domain/permissions.js';
import type { Operation } from '../../domain/policies.js';
import type { Dialect } from '../../domain/statement.js';
import { matchPolicy } from '../../domain/workflow-policy.js';
import { type MigrationReview, reviewMigrations } from '../../sql/review-migrations.js';
import type { Generation, Services } from '../context.js';

export type ClassifiedBundle =
  | { ok: true; dirSha256: string; versions: string[]; statements: number; review: MigrationReview & { policyId: string } }
  /** AP-22, MI-16: `path` is the place of the text that is refused. */
  | { ok: false; path: string; reason: string; unparsed: boolean };

/** Classifies a bundle's statements by its pair's rules; the same for a creation and a preflight. A breach of MI-15 or MI-17 is 400. */
export async function classifyBundle(
  services: Services,
  generation: Generation,
  asked: Pair & { operation: 'migrate_up' | 'migrate_down'; detail: string; place: string; dialect: Dialect | null },
  caller: Caller,
): Promise<ClassifiedBundle> {
  const { migrations, dirSha256 } = readBundle(asked.detail, asked.operation === 'migrate_down' ? 'down' : 'up', asked.place);
  const verdict = await outsideDatabaseWork(() => services.classifier.reviewMigrations(migrations, asked.dialect, caller.id));
  if (!verdict.ok && verdict.busy)
    throw refusal('service.unavailable', 'SQL texts cannot be classified at the moment', 'try again later');
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
    versions,
    statements: verdict.reviewed.reduce((sum, { statements }) => sum + statements, 0),
    review: { ...reviewMigrations(versions, verdict.reviewed, policy), policyId: policy.id },
  };
}

/** RQ-21 for migrations: the permissions that are needed and that the caller lacks. A repair without emergency was refused before (RQ-14). */
export function missingForMigration(
  caller: Caller,
  pair: Pair,
  operation: Operation,
  { emergency, allowDdl }: { emergency: boolean; allowDdl: boolean },
): Permission[] {
  const may = (permission: Permission) => can(caller, permission, pair);
  const write = emergency ? 'request.break_glass_dml' : 'request.dml';
  const read = emergency ? 'request.break_glass_query' : 'request.query';
  const mayRead = operation === 'migrate_status' && may(read);
  return [
    ...(mayRead || may(write) ? [] : ([write] as const)),
    ...(allowDdl && !may('request.break_glass_ddl') ? (['request.break_glass_ddl'] as const) : []),
  ];
}

export const mayMigrate = (...asked: Parameters<typeof missingForMigration>): boolean =>
  missingForMigration(...asked).length === 0;
