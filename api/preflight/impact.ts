import { leftToAnswerMs, limitDatabaseWork } from '../../db/call-limit.js';
import { topic } from '../../db/notifications.js';
import {
  addPreflightJob,
  expirePreflightJob,
  findPreflightEnd,
  hasHealthyAgent,
  type PreflightEnd,
} from '../../db/preflight-jobs.js';
import { refusal } from '../../domain/errors.js';
import { lacking } from '../../domain/lacking.js';
import { can } from '../../domain/permissions.js';
import { isUnknownName, notPlanned } from '../../domain/plan-error.js';
import type { WorkflowPolicy } from '../../domain/policies.js';
import type { Dialect } from '../../domain/statement.js';
import { summarisePlan } from '../../lib/plan-summary.js';
import { neverPlanned } from '../../sql/never-planned.js';
import type { Services } from '../context.js';
import { longPoll } from '../http/long-poll.js';
import type { Accepted } from '../requests/assessment.js';
import type { PreflightCall } from './schemas.js';

/** `plan` is JSON text as the agent sent it. */
export interface Impact {
  status: 'skipped' | 'disabled_by_policy' | 'not_available' | 'completed' | 'error' | 'timeout';
  plan?: string;
  estimated_rows?: number | null;
  estimated_cost?: number | null;
  index_used?: boolean | null;
  /** Why there is no plan, as people may see it (HD-2). */
  error?: string;
  /** The database knows no such table or column. */
  unknown_name?: boolean;
  /** How many statements an agent was asked to plan. */
  planned?: number;
}

const closingMs = 4000;
/** Reserved for the work after the wait (HT-131). The wait is cut short only if the call was already slow. */
const afterWaitMs = 3000;

/** PF-17a to PF-17e: asks an agent for the plan and waits for it. The agent may answer on any process (AG-71). */
export async function findImpact(
  call: PreflightCall,
  services: Services,
  { verdict, dialect }: { verdict: Accepted; dialect: Dialect | null },
  workflow: WorkflowPolicy,
): Promise<Impact> {
  const { caller, body } = call;
  const [statement] = verdict.statements;
  const explainable = verdict.statements.length === 1 && statement?.explainable === true;
  if (!body.include_explain || !explainable || !can(caller, 'request.preflight_explain', body)) return { status: 'skipped' };
  if (!workflow.explain) return { status: 'disabled_by_policy' };
  if (!(await hasHealthyAgent(services.database, body))) return { status: 'not_available' };
  // Do not ask for a plan that no agent may make before approval (HD-1).
  const why = neverPlanned(dialect, verdict.facts[0]!);
  if (why !== null) return failed(notPlanned(why));
  const askedMs = Math.min(body.explain_timeout_ms, services.config().preflight.maxExplainTimeoutMs);
  const timeoutMs = Math.min(askedMs, Math.floor(leftToAnswerMs()) - afterWaitMs);
  if (timeoutMs <= 0) return { status: 'timeout' };
  const id = await addJob(call, services, statement.text, timeoutMs);
  const end = await waitForEnd(call, services, id, timeoutMs);
  await limitDatabaseWork(closingMs, () => recheck(call));
  if (end === null) return { status: 'timeout', planned: 1 };
  return { ...(end.state === 'error' ? failed(end.error) : completed(end.plan)), planned: 1 };
}

/** PF-11, PF-9: refuses while draining, and above the user's limit. */
async function addJob(call: PreflightCall, services: Services, sql: string, timeoutMs: number): Promise<string> {
  if (services.lifecycle.draining) throw refusal('service.draining', 'server is shutting down');
  const { database, environment } = call.body;
  const ask = { userId: call.caller.id, database, environment, sql, timeoutMs };
  const limit = services.config().preflight.maxConcurrentPerUser;
  const id = await services.database.transaction((tx) => addPreflightJob(tx, ask, limit));
  if (id !== undefined) return id;
  services.metrics.rateLimited.inc({ limit: 'preflight' });
  throw refusal(
    'rate.limited',
    `at most ${limit} preflights with EXPLAIN at a time`,
    'wait for one of them, or leave EXPLAIN out',
  );
}

/** A job without an answer expires when the wait ends, however it ends. */
async function waitForEnd(call: PreflightCall, services: Services, id: string, timeoutMs: number): Promise<PreflightEnd | null> {
  let end: PreflightEnd | null = null;
  try {
    const look = () => findPreflightEnd(services.database, id);
    end = await longPoll(call, services, { topics: [topic.preflight(id)], ms: timeoutMs }, look);
    return end;
  } finally {
    if (end === null) await limitDatabaseWork(closingMs, () => expirePreflightJob(services.database, id));
  }
}

/** HT-103: checks that the caller may still see the answer. */
async function recheck(call: PreflightCall): Promise<void> {
  if (!can(await call.recheck(), 'request.preflight', call.body)) throw lacking(['request.preflight'], call.body);
}

const failed = (error: string | null): Impact => ({
  status: 'error',
  ...(error === null ? {} : { error, unknown_name: isUnknownName(error) }),
});

function completed(plan: string): Impact {
  const { estimatedRows, estimatedCost, indexUsed } = summarisePlan(JSON.parse(plan));
  return {
    status: 'completed',
    plan,
    estimated_rows: estimatedRows,
    estimated_cost: estimatedCost,
    index_used: indexUsed,
  };
}
