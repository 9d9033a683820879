import { insertAuditEvents } from '../../db/audit.js';
import type { Actor, AuditDraft } from '../../domain/audit.js';
import type { Caller } from '../../domain/caller.js';
import { invalid } from '../../domain/errors.js';
import type { Operation } from '../../domain/policies.js';
import type { CreationInput } from '../../domain/request/creation.js';
import type { Dialect } from '../../domain/statement.js';
import type { Review, ReviewFinding } from '../../sql/review.js';
import type { Services } from '../context.js';
import { redactedTexts } from './redaction.js';

interface Reviewed {
  input: CreationInput;
  dialect: Dialect | null;
  operation: Operation;
  review: Review;
}

/** If the review blocks a creation and `allow_ddl` does not lift it, audits the refusal and throws 400 (RQ-20, SQ-76, BG-2, BG-3). */
export async function refuseBlocked(
  call: { actor: Actor; caller: Caller },
  services: Services,
  reviewed: Reviewed,
): Promise<void> {
  const { input, review } = reviewed;
  if (!review.blocked || (input.allowDdl && review.bypassable)) return;
  const blocking = review.findings.filter(({ action }) => action === 'block');
  await auditBlocked(call, services, reviewed, blocking);
  const messages = blocking
    .map(({ message }) => message)
    .join('; ')
    .slice(0, maxMessage);
  if (input.allowDdl) throw invalid(`not bypassable: ${messages}`, 'body.detail');
  throw invalid(messages, review.rulesBypassable ? bypassHint : 'body.detail');
}

/** A text may contain thousands of blocked statements. */
const maxMessage = 500;
const bypassHint = 'in an emergency, allow_ddl lifts this when every statement creates, alters or drops';

/** AU-11: uses its own transaction. A failed write does not change the answer. */
async function auditBlocked(
  { actor, caller }: { actor: Actor; caller: Caller },
  services: Services,
  { input, dialect, operation }: Reviewed,
  blocking: ReviewFinding[],
): Promise<void> {
  const { database, environment } = input;
  const draft: AuditDraft = {
    type: 'request.blocked_by_review',
    outcome: 'denied',
    actor,
    resourceType: null,
    resourceId: null,
    reason: input.reason,
    metadata: {
      blocked_rules: [...new Set(blocking.map(({ code }) => code))],
      ...(input.emergency ? { break_glass_attempted: true } : {}),
    },
  };
  try {
    const { detailFingerprint, detailRaw } = await redactedTexts(services, { operation, detail: input.detail, dialect }, caller);
    const subject = { requestId: null, operation, database, environment, detailFingerprint, detailRaw };
    await services.database.transaction((tx) => insertAuditEvents(tx, [draft], subject));
  } catch (error) {
    services.metrics.auditWriteFailures.inc();
    services.log.error({ error: String(error) }, 'request.blocked_by_review not written');
  }
}
