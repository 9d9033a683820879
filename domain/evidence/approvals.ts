import { objectOf } from '../audit/checkpoint.js';
import type { SealedEvent } from '../audit/event.js';
import type { Channel } from '../policies.js';
import { firstOpenStep, stepProgress } from '../request/approval.js';
import type { Decision } from '../request/types.js';
import { decideAutoApproval, type RiskLevel } from '../workflow-policy.js';
import type { Evidence } from './document.js';
import { type Fault, fault } from './fault.js';
import { type EvidencePolicy, readPolicy } from './policy.js';

const approvalTypes = new Set(['step.approved', 'request.approved']);

/** The decisions are those of the events, and they, or what the policy says, allowed the first dispatch. */
export function approvalFault(evidence: Evidence): Fault | null {
  const policy = evidence.policy.workflow === null ? null : readPolicy(evidence.policy.workflow);
  if (policy === 'malformed') return fault('malformed', 'the workflow policy cannot be read');
  return decisionFault(evidence) ?? firstEventFault(evidence, policy) ?? stepsFault(evidence, policy);
}

/** Each decision has its event, and the other way round. */
function decisionFault({ decisions, events }: Evidence): Fault | null {
  const told = events
    .map(({ event }) => event)
    .filter(({ event_type: type }) => approvalTypes.has(type) || type === 'request.rejected');
  if (told.length !== decisions.length)
    return fault('decision_mismatch', `there are ${decisions.length} decisions, but the log has ${told.length}`);
  const wrong = decisions.find((decision, at) => !isTold(decision, told[at] as SealedEvent));
  return wrong === undefined ? null : fault('decision_mismatch', `the log has another decision than that of ${wrong.user}`);
}

function isTold(decision: Evidence['decisions'][number], event: SealedEvent): boolean {
  const metadata = objectOf(event.metadata_json);
  const comment = decision.action === 'reject' ? event.reason : (metadata.approval_comment ?? null);
  const step = event.event_type === 'request.approved' ? decision.step + 1 : metadata.step_number;
  return (
    approvalTypes.has(event.event_type) === (decision.action === 'approve') &&
    event.actor_id === decision.user &&
    event.actor_type === 'user' &&
    metadata.matched_selector === decision.selector &&
    step === decision.step + 1 &&
    (comment ?? '') === (decision.comment ?? '')
  );
}

/** Who asked, and why it could pass where nobody approved. */
function firstEventFault({ events, request }: Evidence, policy: EvidencePolicy | null): Fault | null {
  const first = events[0]?.event;
  if (first === undefined) return null;
  if (first.actor_id !== request.requester || first.actor_type !== 'user')
    return fault('event_foreign', `the request was made by ${first.actor_id}, not by ${request.requester}`);
  if ((first.reason ?? '') !== (request.reason ?? '')) return fault('event_foreign', 'the reason is not the one in the log');
  if ((first.event_type === 'request.break_glass') !== request.emergency && first.event_type !== 'request.created')
    return fault('approval_missing', 'an emergency is one in the request and in the log, or in none of them');
  if (first.event_type === 'request.break_glass')
    return (request.reason ?? '').trim() === '' ? fault('approval_missing', 'the emergency has no reason') : null;
  if (first.event_type !== 'request.auto_approved') return null;
  const risk = request.decision_trace.risk.level as RiskLevel;
  const { channel = 'api' } = objectOf(first.metadata_json);
  const passing = { emergency: false, requireApproval: request.require_approval, bounded: true, channel: channel as Channel };
  const rule = policy?.autoApprove ?? null;
  return decideAutoApproval(rule, risk, passing).outcome === 'auto_approved'
    ? null
    : fault('approval_missing', 'the request passed without approval, which its policy does not allow');
}

/** Counts the approvals of the log again, by the rules AV-10 to AV-13. */
function stepsFault({ events, request, decisions }: Evidence, policy: EvidencePolicy | null): Fault | null {
  const given: Given[] = [];
  const approvals = decisions.filter(({ action }) => action === 'approve');
  const told = events.map(({ event }) => event).filter(({ event_type: type }) => approvalTypes.has(type));
  for (const [at, { user, selector, step }] of approvals.entries()) {
    if (policy === null || policy.steps.length === 0)
      return fault('approval_not_allowed', `nothing asks for the approval of ${user}`);
    const open = firstOpenStep(stepProgress(policy, given));
    const why = refusalOf({ user, selector, step }, open, given, { policy, requester: request.requester });
    if (why !== null) return fault('approval_not_allowed', `the approval of ${user} as ${selector} does not count: ${why}`);
    given.push({ step, userId: user, action: 'approve', selector });
    const isLast = firstOpenStep(stepProgress(policy, given)) === policy.steps.length;
    if (isLast !== (told[at]?.event_type === 'request.approved'))
      return fault(
        'approval_missing',
        isLast ? 'the last approval is not told as the last' : `approvals are missing after that of ${user}`,
      );
  }
  return null;
}

type Given = Pick<Decision, 'step' | 'userId' | 'action' | 'selector'>;

interface Approval {
  user: string;
  selector: string;
  step: number;
}

/** Memberships of roles and groups are judged when somebody acts, so a document cannot prove them; `user:` it can. */
function refusalOf(
  { user, selector, step }: Approval,
  open: number,
  given: readonly Given[],
  { policy, requester }: { policy: EvidencePolicy; requester: string },
): string | null {
  if (step !== open) return `step ${open + 1} was open`;
  // A step may name a selector twice, with other numbers.
  const entries = (stepProgress(policy, given)[step]?.entries ?? []).filter((entry) => entry.selector === selector);
  if (entries.length === 0) return 'the step does not ask for it';
  if (selector.startsWith('user:') && selector !== `user:${user}`) return 'it is somebody else';
  if (user === requester && !policy.allowSelfApprove) return 'the requester may not approve';
  const own = given.filter(({ userId }) => userId === user);
  if (own.some((decision) => decision.step === step)) return 'the same person approved this step before';
  if (own.length > 0 && !policy.allowSameApproverAcrossSteps) return 'the same person approved an earlier step';
  return entries.every(({ current, min }) => current >= min) ? 'it has its approvals already' : null;
}
