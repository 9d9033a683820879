import type { SigningKey } from '../../crypto/ed25519.js';
import { signExecutionToken, type TokenClaims } from '../../crypto/execution-token.js';
import { iso } from '../../db/row-types.js';
import { runLimits } from '../../domain/request/lease.js';
import { type Execution, isMutating, type StoredRequest } from '../../domain/request/types.js';
import type { Generation } from '../context.js';
import { executionPolicy } from '../requests/pair.js';

export interface ClaimedRun {
  request: StoredRequest;
  execution: Execution;
  terms: ClaimTerms;
  maxResultBytes: number;
  now: number;
}

export interface ClaimTerms {
  statementTimeoutSecs: number;
  leaseMs: number;
  windowSecs: number;
  maxRows: number | null;
}

/** Timeouts, rows and lease of a run by the policy in force now (AG-37, AG-38). */
export function claimTerms(generation: Generation, request: StoredRequest, leaseFloorMs: number): ClaimTerms {
  const policy = executionPolicy(generation, request);
  const { statementTimeoutSecs, leaseSecs } = runLimits(request.operation, policy, request.policy);
  // The shortest lease is 60 s of the rule.
  const leaseMs = leaseSecs * (leaseFloorMs / 60);
  return { statementTimeoutSecs, leaseMs, windowSecs: policy.executionWindowSecs, maxRows: policy.maxRows };
}

/** The exact bytes that answer a claim (AG-39), with the token that lets the agent run it. */
export function claimAnswer(run: ClaimedRun, signer: SigningKey): string {
  return JSON.stringify(answerOf(run, signExecutionToken(tokenClaims(run), signer)));
}

function tokenClaims({ request, execution, terms, maxResultBytes, now }: ClaimedRun): TokenClaims {
  const unresolved = unresolvedOf(request);
  return {
    ...sharedTerms(request, execution),
    requestId: request.id,
    requesterRole: request.requesterRole,
    requesterSubjectId: request.requester,
    executionId: execution.id,
    agentId: execution.agentId,
    unresolvedFences: unresolved.map(({ fence }) => fence),
    unresolvedExecutions: unresolved,
    approvalDigest: request.approvalDigest,
    policyRevision: request.policyRevision,
    statementTimeoutSecs: terms.statementTimeoutSecs,
    maxRows: terms.maxRows,
    maxResultBytes,
    maxAffectedRows: request.maxAffectedRows,
    searchPath: request.searchPath,
    issuedAt: new Date(now),
  };
}

function answerOf({ request, execution, terms, maxResultBytes, now }: ClaimedRun, executionToken: string) {
  const unresolved = unresolvedOf(request);
  return {
    execution_id: execution.id,
    request_id: request.id,
    ...sharedTerms(request, execution),
    execution_token: executionToken,
    statement_timeout_secs: terms.statementTimeoutSecs,
    max_rows: terms.maxRows,
    lease_expires_at: iso(execution.leaseExpiresAt),
    lease_secs: leaseSecsOf(terms),
    execution_plan: null,
    execution_plan_json: null,
    unresolved_fences: unresolved.map(({ fence }) => fence),
    unresolved_executions: unresolved.map(({ fence, executionId, agentId, claimedAt, markerForm }) => {
      return { fence, execution_id: executionId, agent_id: agentId, claimed_at: iso(claimedAt), marker_form: markerForm };
    }),
    policy_revision: request.policyRevision,
    approval_digest: request.approvalDigest,
    max_result_bytes: maxResultBytes,
    max_affected_rows: request.maxAffectedRows,
    search_path: request.searchPath,
    server_time: iso(now),
  };
}

/** What the answer says by the names under which the token holds it. */
const sharedTerms = ({ operation, database, environment, detail, fence }: StoredRequest, { marker }: Execution) => ({
  operation,
  database,
  environment,
  detail,
  fence,
  marker,
});

const unresolvedOf = (request: StoredRequest) => (isMutating(request.operation) ? request.unresolved : []);

/** The lease as agents are told it. */
export const leaseSecsOf = ({ leaseMs }: ClaimTerms) => Math.ceil(leaseMs / 1000);
