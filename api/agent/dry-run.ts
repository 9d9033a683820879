import type { z } from 'zod';
import { signExplainToken } from '../../crypto/explain-token.js';
import { claimDryRun, endDryRun, findDryRunClaim, findDryRunPair } from '../../db/dry-run-jobs.js';
import { transactionBy } from '../../db/standing.js';
import { forbidden, notFound, outOfScope, refusal } from '../../domain/errors.js';
import { shownPlan } from '../../domain/mysql-plan.js';
import { shownPlanError } from '../../domain/plan-error.js';
import { neverPolled } from '../../domain/request/judge-claim.js';
import { memberText } from '../../lib/json/member.js';
import { cutBytes } from '../../lib/utf8.js';
import { isUuid } from '../../lib/uuid.js';
import type { Services } from '../context.js';
import { maxBodyBytes } from '../http/body.js';
import { anything, named, text } from '../http/fields.js';
import type { Call } from '../http/route.js';
import { agentOf, requireServed } from './caller.js';

const maxErrorBytes = 4096;

export const dryRunResultBody = named('DryRunResult', 'The plan of a statement, or why there is none.', {
  claim_token: text('As the claim gave it.', { maxLength: maxBodyBytes }),
  result: anything('The plan as JSON.').optional(),
  error: text(`Why there is no plan; ${maxErrorBytes} bytes of it are kept.`, { maxLength: maxBodyBytes }).nullish(),
});

/** `POST /api/agent/dry-run/{id}/claim` (AG-66). */
export async function claimDryRunJob(call: Call<{ id: string }, undefined, unknown>, services: Services) {
  const { id } = call.params;
  const found = isUuid(id) ? await findDryRunClaim(services.database, id, call.caller.id) : undefined;
  if (found === undefined) throw notFound('dry_run_job');
  if (!found.agentKnown) throw neverPolled();
  requireServed(call.caller, found);
  if (!found.inScope) throw forbidden(outOfScope);
  const signer = await services.signingKeys.signer(found.signingKeyId, services.database);
  const claimed = await transactionBy(services.database, call.actor, (tx) => claimDryRun(tx, id, call.caller.id));
  if (claimed === undefined) throw refusal('dry_run_job.conflict', 'the job is not pending');
  const { database, environment, sql } = found;
  const terms = { jobId: id, kind: 'dry_run', database, environment, sql, agentId: call.caller.id } as const;
  return { claim_token: claimed.claimToken, explain_token: signExplainToken(terms, signer, new Date(claimed.now)) };
}

/** `POST /api/agent/dry-run/{id}/result` (AG-67). Stores the plan and the error redacted for people (HD-2). */
export async function submitDryRun(call: Call<{ id: string }, undefined, z.output<typeof dryRunResultBody>>, services: Services) {
  const { id } = call.params;
  const { claim_token: claimToken, result, error } = call.body;
  if (!isUuid(id)) throw notFound('dry_run_job');
  const end =
    error != null
      ? { error: cutBytes(shownPlanError(error), maxErrorBytes) }
      : shownPlan(result == null ? '{}' : (memberText(call.bodyBytes, 'result') ?? '{}'));
  const job = { id, agent: agentOf(call.caller), claimToken };
  if (await transactionBy(services.database, call.actor, (tx) => endDryRun(tx, job, end))) return {};
  const pair = await findDryRunPair(services.database, id);
  if (pair === undefined) throw notFound('dry_run_job');
  requireServed(call.caller, pair);
  throw refusal('dry_run_job.conflict', 'the job is not claimed with this token');
}
