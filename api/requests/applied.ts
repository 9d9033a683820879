import { mayBeReverted } from '../../db/recent-reverts.js';
import { iso } from '../../db/row-types.js';
import type { Caller, Pair } from '../../domain/caller.js';
import { storedBundle } from '../../domain/migration/stored.js';
import { can } from '../../domain/permissions.js';
import type { StoredRequest } from '../../domain/request/types.js';
import type { Services } from '../context.js';
import { currentSnapshot } from './snapshots.js';

/** Which of these versions are applied, by the pair's snapshot (MI-45); null where it does not tell. Of others it tells nothing. */
export async function appliedOf({ database }: Services, caller: Caller, pair: Pair, versions: readonly string[]) {
  if (!can(caller, 'request.view', pair)) return null;
  const known = await currentSnapshot(database, pair);
  const applied = known?.snapshot.applied_versions ?? null;
  if (known === null || applied === null || (await mayBeReverted(database, pair, known.collectedAt))) return null;
  const there = new Set(applied);
  return { seen_at: iso(known.collectedAt), applied: versions.filter((version) => there.has(version)) };
}

/** The same of a request's files, while somebody still decides whether they run. */
export async function appliedOfRequest(services: Services, caller: Caller, request: StoredRequest) {
  const { operation, status, detail } = request;
  if (operation !== 'migrate_up' || (status !== 'pending' && status !== 'approved')) return null;
  const bundle = storedBundle(detail);
  if (bundle === null) return null;
  const versions = bundle.migrations.map(({ version }) => version);
  return appliedOf(services, caller, request, versions);
}
