import { limitDatabaseWork } from '../../db/call-limit.js';
import { invalid } from '../../domain/errors.js';
import { lacking } from '../../domain/lacking.js';
import { can } from '../../domain/permissions.js';
import type { Operation } from '../../domain/policies.js';
import { blockedAnswer, type PreflightAnswer, preflightAnswer } from '../../domain/preflight.js';
import { decideAutoApproval, noWayThrough } from '../../domain/workflow-policy.js';
import { objectText } from '../../lib/json/write.js';
import type { Services } from '../context.js';
import { type Reply, rawJson } from '../http/reply.js';
import { unknownFieldWarnings, warned } from '../http/unknown-fields.js';
import { approverWarnings } from '../requests/approver-warnings.js';
import { type Accepted, type Assessment, assessAccepted, classifyText, maySubmit } from '../requests/assessment.js';
import { tooLongDetail } from '../requests/creation-body.js';
import { notRegistered } from '../requests/not-registered.js';
import { pairDialect, registered } from '../requests/pair.js';
import { parserWords } from '../requests/parser-words.js';
import { auditPreflight } from './audit.js';
import { findImpact, type Impact } from './impact.js';
import { migrationPreflight } from './migration.js';
import { type PreflightCall, preflightBody, preflightResponse } from './schemas.js';

/** Database limit of the work after the wait. */
const afterWaitMs = 4000;

/** `POST /api/preflight`: runs the checks PF-1 to PF-12 in order. Answers what creating this text would result in, with its plan. */
export async function preflight(call: PreflightCall, services: Services): Promise<Reply> {
  const { caller, generation, body } = call;
  if (!can(caller, 'request.preflight', body)) throw lacking(['request.preflight'], body);
  await call.sender.meter.preflight(caller);
  if (registered(generation, body) === undefined) throw notRegistered(generation, caller, body);
  const dialect = await pairDialect(services.database, generation, body);
  if (body.operation === 'migrate_up' || body.operation === 'migrate_down') {
    const found = await migrationPreflight(call, services, body.operation, dialect);
    return answer(call, services, found ?? blockedAnswer('rejected', noWorkflow, null), skipped);
  }
  const tooLong = tooLongDetail('execute_select', body.sql);
  if (tooLong !== null) return answer(call, services, blockedAnswer('rejected', tooLong, null), skipped);
  const { verdict, known } = await classifyText(services, generation, { ...body, dialect }, call);
  if (verdict.verdict === 'empty') throw invalid('sql holds no statement', 'body.sql');
  if (verdict.verdict === 'refused') {
    const code = verdict.parseFailure ? 'parse_failure' : 'rejected';
    return answer(call, services, blockedAnswer(code, parserWords(verdict.reason), verdict.hint), skipped);
  }
  if (body.operation != null && body.operation !== verdict.operation)
    throw invalid(`the text is ${verdict.operation}`, 'body.operation');
  const assessed = assessAccepted(generation, { ...body, dialect }, verdict, known);
  if (assessed.matched === null) return answer(call, services, blockedAnswer('rejected', noWorkflow, null), skipped);
  const facts = factsOf(call, verdict, { ...assessed, matched: assessed.matched });
  const refused = noWayThrough(facts.approval, facts.workflow);
  if (refused !== null) return answer(call, services, blockedAnswer('rejected', refused, null), skipped);
  const found = preflightAnswer(facts);
  const impact = await findImpact(call, services, { verdict, dialect }, assessed.matched);
  return limitDatabaseWork(afterWaitMs, () => answer(call, services, found, impact));
}

const skipped: Impact = { status: 'skipped' };
const noWorkflow = 'no workflow matches this database, environment and operation';

function factsOf({ caller, actor, body }: PreflightCall, verdict: Accepted, assessed: Assessment & { matched: object }) {
  const { matched: workflow, review, risk } = assessed;
  const emergency = { emergency: true, allowDdl: review.blocked };
  return {
    classified: { ...verdict, statements: verdict.statements.length },
    workflow,
    review,
    risk,
    approval: decideAutoApproval(workflow.autoApprove, risk.level, {
      emergency: false,
      requireApproval: false,
      bounded: assessed.bounded,
      channel: actor.channel,
    }),
    canSubmit: maySubmit(caller, body, verdict, { emergency: false, allowDdl: false }),
    breakGlassAllowed: maySubmit(caller, body, verdict, emergency) && (!review.blocked || review.bypassable),
  };
}

/** Audits, then answers. The plan goes out as the agent sent it. */
async function answer(call: PreflightCall, services: Services, found: PreflightAnswer, impact: Impact): Promise<Reply> {
  const { plan, planned = 0, ...shown } = impact;
  await auditPreflight(call, services, found, { status: impact.status, planned });
  const { requires_approval: needsApproval } = found.policy;
  const { operation } = found.classification;
  const stuck =
    needsApproval && operation !== 'unknown'
      ? await approverWarnings(services, call.generation, { ...call.body, operation: operation as Operation }, call.caller)
      : [];
  const answered = preflightResponse.parse({
    ...found,
    impact: shown,
    ...warned([...unknownFieldWarnings(call.bodyKeys, preflightBody), ...stuck]),
  });
  const explained: Record<string, string> = plan === undefined ? {} : { explain_plan: plan };
  return rawJson([objectText(answered, { impact: objectText(answered.impact, explained) })]);
}
