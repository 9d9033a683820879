import { insertLoneEvent } from '../../db/audit.js';
import type { AuditDraft } from '../../domain/audit/draft.js';
import type { PreflightAnswer } from '../../domain/preflight.js';
import { tryToAudit } from '../../runtime/try-to-audit.js';
import type { Services } from '../context.js';
import { pairDialect } from '../requests/pair.js';
import { auditTexts, redactDetail } from '../requests/redaction.js';
import type { PreflightCall } from './schemas.js';

/** PF-12, AU-11: records an answer that is sent; nothing if the caller has gone. A failed write does not change the answer. */
export async function auditPreflight(
  call: PreflightCall,
  services: Services,
  found: PreflightAnswer,
  impact: { status: string; planned: number },
): Promise<void> {
  if (call.signal.aborted) return;
  const { database, environment } = call.body;
  await tryToAudit(services, 'preflight.attempted', async () => {
    const dialect = await pairDialect(services.database, call.generation, call.body);
    const text = { operation: migrationOf(call), detail: call.body.sql, dialect };
    const redactedDetail = await redactDetail(services, text, call.caller);
    const { operation } = found.classification;
    const subject = {
      requestId: null,
      operation: operation === 'unknown' ? migrationOf(call) : operation,
      database,
      environment,
    };
    const texts = auditTexts(services, { ...text, redactedDetail });
    await insertLoneEvent(services.database, draftOf(call, found, impact), { ...subject, ...texts });
  });
}

/** A bundle is identified by its versions (AU-52). */
function migrationOf({ body: { operation } }: PreflightCall) {
  return operation === 'migrate_up' || operation === 'migrate_down' ? operation : null;
}

function draftOf(call: PreflightCall, found: PreflightAnswer, impact: { status: string; planned: number }): AuditDraft {
  return {
    type: 'preflight.attempted',
    outcome: found.status === 'blocked' ? 'denied' : 'success',
    actor: call.actor,
    resourceType: null,
    resourceId: null,
    reason: null,
    metadata: {
      status: found.status,
      risk_level: found.risk,
      impact_status: impact.status,
      planned_statements: impact.planned,
      blocked_codes: found.review.findings.filter(({ action }) => action === 'block').map(({ code }) => code),
      include_explain: call.body.include_explain,
    },
  };
}
