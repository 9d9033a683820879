import type { z } from 'zod';
import { findScopes } from '../../db/agents.js';
import { insertAuditEvents } from '../../db/audit.js';
import { recordSync } from '../../db/snapshots.js';
import { transactionBy } from '../../db/standing.js';
import type { AuditDraft } from '../../domain/audit/draft.js';
import { forbidden, invalid } from '../../domain/errors.js';
import type { Dialect } from '../../domain/statement.js';
import { cutBytes } from '../../lib/utf8.js';
import type { Services } from '../context.js';
import type { Call } from '../http/route.js';
import { registered } from '../requests/pair.js';
import { requireServed } from './caller.js';
import { inOrder, type schemaSyncBody } from './snapshot-body.js';

type SyncCall = Call<undefined, undefined, z.output<typeof schemaSyncBody>>;

const maxErrorBytes = 4096;

/** `POST /api/agent/schema-sync` (AG-72 to AG-74). A sync that is not ready keeps the last good snapshot. */
export async function syncSchema(call: SyncCall, services: Services): Promise<Record<string, never>> {
  const { database, environment, dialect, status, snapshot, error_message: error } = call.body;
  requireServed(call.caller, { database, environment });
  const scopes = await findScopes(services.database, call.caller.id);
  if (!scopes?.some((scope) => scope.database === database && scope.environment === environment))
    throw forbidden('this agent has not said in a poll that it serves this database and environment');
  if (registered(call.generation, { database, environment }) === undefined)
    throw invalid(`${database}/${environment} is not registered`, null, 'not_registered');
  const ready = status === 'ready' && snapshot != null;
  await transactionBy(services.database, call.actor, async (tx) => {
    const sync = {
      database,
      environment,
      dialect,
      status,
      agentId: call.caller.id,
      snapshot: ready ? inOrder(snapshot) : null,
      errorMessage: error == null ? null : cutBytes(error, maxErrorBytes),
    };
    const { dialectBefore } = await recordSync(tx, sync);
    const subject = { requestId: null, operation: null, database, environment, detailFingerprint: null, detailRaw: null };
    await insertAuditEvents(tx, [event(call, ready, ready ? dialectBefore : null)], subject);
  });
  return {};
}

function event({ actor, body }: SyncCall, ready: boolean, dialectBefore: Dialect | null): AuditDraft {
  const changed = dialectBefore !== null && dialectBefore !== body.dialect;
  return {
    type: ready ? 'schema.snapshot_updated' : 'schema.snapshot_failed',
    outcome: ready ? 'success' : 'failure',
    actor,
    resourceType: 'schema',
    resourceId: `${body.database}/${body.environment}`,
    reason: null,
    metadata: changed ? { old_dialect: dialectBefore, new_dialect: body.dialect } : {},
  };
}
