import type { z } from 'zod';
import { BUILTIN_REVIEW } from '../../config/shared.js';
import type { Pair } from '../../domain/caller.js';
import { lacking } from '../../domain/lacking.js';
import { can } from '../../domain/permissions.js';
import type { Channel, ExecutionPolicy, WorkflowPolicy } from '../../domain/policies.js';
import { OPERATIONS, type Operation } from '../../domain/policies.js';
import { effectiveStatementTimeoutSecs, matchPolicy, matchWorkflow, previewDecision } from '../../domain/workflow-policy.js';
import type { Generation, Services } from '../context.js';
import type { Call } from '../http/route.js';
import { parsePart } from '../http/shape.js';
import { executionPolicy, registered } from '../requests/pair.js';
import { resultPolicy } from '../results/policy.js';
import { operationQuery, type resolution } from './schemas.js';
import { reviewSource, shownAutoApprove } from './shown.js';

type ResolutionCall = Call<undefined, Pair & { operation?: string | undefined }, undefined>;

/** `GET /api/policy-resolution`: what a creation would use now (PO-1 to PO-4), found by the same matching. */
export function resolvePolicies(call: ResolutionCall, services: Pick<Services, 'config'>): z.input<typeof resolution> {
  const { caller, actor, generation, query } = call;
  const { database, environment } = query;
  if (!can(caller, 'request.view', query)) throw lacking(['request.view'], query);
  const { operation } = parsePart('query', operationQuery, { operation: query.operation });
  if (registered(generation, query) === undefined)
    return { database, environment, registered: false, decision_preview: 'deny', reason_code: 'db_not_registered' };
  const pair = { database, environment };
  return {
    ...pair,
    registered: true,
    ...(operation === undefined
      ? allOperations(generation, pair, actor.channel)
      : oneOperation(generation, pair, operation, actor.channel)),
    sql_review_policy: shownReview(generation, pair),
    result_policy: shownResult(services, generation, pair),
  };
}

/** PO-2. */
function oneOperation(generation: Generation, pair: Pair, operation: Operation, channel: Channel | undefined) {
  const workflow = matchWorkflow(generation.shared.workflows, { ...pair, operation });
  const { decision, reason } = previewDecision(workflow, operation, channel);
  return {
    operation,
    workflow: workflow === null ? null : shownWorkflow(workflow),
    auto_approve: shownAutoApprove(workflow?.autoApprove ?? null),
    execution_policy: shownExecution(generation, pair, workflow),
    decision_preview: decision,
    reason_code: reason,
  };
}

/** PO-3: shows the execution policy's timeout, because a workflow policy may set its own per operation. */
function allOperations(generation: Generation, pair: Pair, channel: Channel | undefined) {
  return {
    execution_policy: shownExecution(generation, pair, null),
    resolutions: OPERATIONS.map((operation) => {
      const workflow = matchWorkflow(generation.shared.workflows, { ...pair, operation });
      const { decision, reason } = previewDecision(workflow, operation, channel);
      return {
        operation,
        workflow_id: workflow?.id ?? null,
        matched_by: workflow === null ? null : writtenPair(workflow),
        auto_approve: shownAutoApprove(workflow?.autoApprove ?? null),
        decision_preview: decision,
        reason_code: reason,
      };
    }),
  };
}

function shownWorkflow(workflow: WorkflowPolicy) {
  return {
    id: workflow.id,
    matched_by: writtenPair(workflow),
    steps: workflow.steps.map(({ mode, approvers }) => ({
      approvers: approvers.map(({ selector }) => selector),
      mode,
      min: approvers[0]?.min ?? 1,
      requirements: approvers,
    })),
    require_reason: workflow.requireReason,
    explain: workflow.explain,
  };
}

function shownExecution(generation: Generation, pair: Pair, workflow: WorkflowPolicy | null) {
  const policy: Omit<ExecutionPolicy, 'id' | keyof Pair> & Partial<Pair> = executionPolicy(generation, pair);
  const { database = '*', environment = '*' } = policy;
  return {
    statement_timeout_secs: effectiveStatementTimeoutSecs(policy, workflow),
    max_statement_timeout_secs: policy.maxStatementTimeoutSecs,
    migration_statement_timeout_secs: policy.migrationStatementTimeoutSecs,
    max_rows: policy.maxRows,
    max_executions: policy.maxExecutions,
    execution_window_secs: policy.executionWindowSecs,
    retry_on_failure: policy.retryOnFailure,
    matched_by: writtenPair({ database, environment }),
    explicit: policy.database !== undefined,
  };
}

function shownReview({ shared }: Generation, pair: Pair) {
  const policy = matchPolicy(shared.sqlReview, pair) ?? BUILTIN_REVIEW;
  return { id: policy.id, database: policy.database, environment: policy.environment, source: reviewSource(policy) };
}

function shownResult(services: Pick<Services, 'config'>, generation: Generation, pair: Pair) {
  const { id, retentionDays, deliveryMode } = resultPolicy(services, generation, pair);
  return { id, retention_days: retentionDays, delivery_mode: deliveryMode };
}

const writtenPair = ({ database, environment }: Pair) => `(${database}, ${environment})`;
