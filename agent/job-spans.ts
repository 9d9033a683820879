import { OPERATIONS, type Operation } from '../domain/policies.js';
import { aboutRequest } from '../tracing/attributes.js';
import { claimSpanId, jobSpanId } from '../tracing/ids.js';
import type { Span } from '../tracing/tracing.js';
import type { Outcome } from './outcome.js';
import type { ClaimAnswer } from './protocol.js';
import type { Target } from './target.js';

type Told = Pick<Span, 'attributes' | 'error'>;

/** The agent's part of a request's trace (OP-94): from the claim's answer to the acknowledged result. */
export const jobSpan = ({ request_id: requestId, execution_id: executionId }: ClaimAnswer) => ({
  requestId,
  name: 'job',
  kind: 'consumer' as const,
  id: jobSpanId(executionId),
  parent: claimSpanId(executionId),
});

export const partOfJob = (claim: ClaimAnswer, name: string, kind: Span['kind'] = 'internal') => ({
  requestId: claim.request_id,
  name,
  kind,
  parent: jobSpanId(claim.execution_id),
});

/** Names what agent.toml and this program name, and nothing that only the claim says. */
export function toldOfJob(
  { claim, target }: { claim: ClaimAnswer; target: Target | undefined },
  report: { outcome: Outcome } | null,
): Told {
  const operation = OPERATIONS.find((one) => one === claim.operation) ?? 'unknown';
  const { database = 'unknown', environment = 'unknown' } = target ?? {};
  const outcome = report?.outcome ?? null;
  return {
    attributes: {
      ...aboutRequest({ database, environment, operation, status: outcome?.outcome ?? 'already_started' }),
      'svc.execution_id': claim.execution_id,
      'svc.fence': claim.fence,
    },
    error: codeOf(outcome),
  };
}

export function toldOfRun({ database, environment, driver }: Target, operation: Operation, outcome: Outcome): Told {
  return {
    attributes: {
      'db.system.name': driver.dialect,
      ...aboutRequest({ database, environment, operation, status: outcome.outcome }),
    },
    error: codeOf(outcome),
  };
}

/** Never the database's own words. */
const codeOf = (outcome: Outcome | null) =>
  outcome === null || outcome.success ? null : outcome.cancelled ? 'cancelled' : outcome.outcome;
