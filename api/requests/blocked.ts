import { insertLoneEvent } from '../../db/audit.js';
import type { Actor, AuditDraft } from '../../domain/audit/draft.js';
import { invalid } from '../../domain/errors.js';
import type { Operation } from '../../domain/policies.js';
import type { CreationInput } from '../../domain/request/new-request.js';
import { tryToAudit } from '../../runtime/try-to-audit.js';
import type { Review, ReviewFinding } from '../../sql/review.js';
import type { Services } from '../context.js';
import { auditTexts } from './redaction.js';

interface Reviewed {
  input: CreationInput;
  operation: Operation;
  redactedDetail: string;
  review: Review;
}

/** If the review blocks a creation and `allow_ddl` does not lift it, audits the refusal and throws 400 (RQ-20, SQ-76, BG-2, BG-3). */
export async function refuseBlocked(call: { actor: Actor }, services: Services, reviewed: Reviewed): Promise<void> {
  const { input, review } = reviewed;
  if (!review.blocked || (input.allowDdl && review.bypassable)) return;
  const blocking = review.findings.filter(({ action }) => action === 'block');
  await auditBlocked(call, services, reviewed, blocking);
  const messages = blocking
    .map(({ message }) => message)
    .join('; ')
    .slice(0, maxMessage);
  if (input.allowDdl) throw invalid(`not bypassable: ${messages}`, 'body.detail');
  throw invalid(messages, hintOf(review));
}

/** A text may contain thousands of blocked statements. */
const maxMessage = 500;

function hintOf({ bypassable, rulesBypassable }: Review): string {
  if (bypassable) return 'in an emergency, allow_ddl lifts this';
  if (!rulesBypassable) return 'body.detail';
  return 'in an emergency, allow_ddl lifts this if every statement is a CREATE TABLE, VIEW or INDEX, an ALTER TABLE, a DROP or a TRUNCATE';
}

/** AU-11: uses its own transaction. A failed write does not change the answer. */
async function auditBlocked(
  { actor }: { actor: Actor },
  services: Services,
  { input, operation, redactedDetail }: Reviewed,
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
  await tryToAudit(services, draft.type, async () => {
    const texts = auditTexts(services, { operation, detail: input.detail, redactedDetail });
    const subject = { requestId: null, operation, database, environment, ...texts };
    await insertLoneEvent(services.database, draft, subject);
  });
}
