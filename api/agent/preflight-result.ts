import type { z } from 'zod';
import { endPreflightJob, findPreflightPair, type PreflightEnd } from '../../db/preflight-jobs.js';
import { transactionBy } from '../../db/standing.js';
import { invalid, refusal } from '../../domain/errors.js';
import { shownPlan } from '../../domain/mysql-plan.js';
import { shownPlanError } from '../../domain/plan-error.js';
import { memberText } from '../../lib/json/member.js';
import { cutBytes } from '../../lib/utf8.js';
import { isUuid } from '../../lib/uuid.js';
import type { Services } from '../context.js';
import { maxBodyBytes } from '../http/body.js';
import { anything, named, text, uuid } from '../http/fields.js';
import type { Call } from '../http/route.js';
import { agentOf, requireServed } from './caller.js';

const maxResultBytes = 262_144;
const maxErrorBytes = 4096;

export const preflightResultBody = named('PreflightJobResult', 'The plan of a preflight, or why there is none.', {
  job_id: uuid('The job.'),
  claim_token: text('As the poll gave it.', { maxLength: maxBodyBytes }),
  result: anything(`The plan as JSON of at most ${maxResultBytes} bytes.`).optional(),
  error: text(`Why there is no plan, in at most ${maxErrorBytes} bytes. Either this or \`result\`.`, {
    maxLength: maxErrorBytes,
  }).nullish(),
});

/**
 * `POST /api/agent/preflight-result` (AG-70): wakes the waiting caller, on any process. Stores the plan and the error
 * redacted for people (HD-2).
 */
export async function submitPreflight(
  call: Call<undefined, undefined, z.output<typeof preflightResultBody>>,
  services: Services,
) {
  const { job_id: id, claim_token: claimToken, result, error } = call.body;
  const plan = result == null ? null : memberText(call.bodyBytes, 'result');
  if ((plan === null) === (error == null)) throw invalid('give exactly one of result and error', 'body.result');
  refuseAbove('result', plan, maxResultBytes);
  refuseAbove('error', error ?? null, maxErrorBytes);
  const job = { id, agent: agentOf(call.caller), claimToken };
  const end = endOf(plan, error ?? null);
  const ended = isUuid(id) && (await transactionBy(services.database, call.actor, (tx) => endPreflightJob(tx, job, end)));
  if (ended) return {};
  const pair = isUuid(id) ? await findPreflightPair(services.database, job) : undefined;
  if (pair !== undefined) requireServed(call.caller, pair);
  throw refusal('preflight_job.gone', 'nobody waits for this job any more');
}

function endOf(plan: string | null, error: string | null): PreflightEnd {
  if (plan === null) return { state: 'error', error: error === null ? null : cutBytes(shownPlanError(error), maxErrorBytes) };
  const shown = shownPlan(plan);
  return 'plan' in shown ? { state: 'completed', plan: shown.plan } : { state: 'error', error: null };
}

function refuseAbove(name: string, text: string | null, limit: number): void {
  if (text !== null && Buffer.byteLength(text) > limit)
    throw refusal('payload.too_large', `${name} has more than ${limit} bytes`);
}
