import { invalid } from '../../domain/errors.js';
import { lacking } from '../../domain/lacking.js';
import { notPlanned } from '../../domain/plan-error.js';
import { collectedContext } from '../../domain/request/context.js';
import type { AssessedDetail, CreationInput, Explainable } from '../../domain/request/new-request.js';
import type { Dialect } from '../../domain/statement.js';
import type { Verdict } from '../../sql/classify.js';
import { neverPlanned } from '../../sql/never-planned.js';
import { unparsable } from '../../sql/verdict.js';
import type { Services } from '../context.js';
import type { Ahead } from '../http/ahead.js';
import type { Call } from '../http/route.js';
import { type Accepted, assessAccepted, classifyText, missingPermissions } from './assessment.js';
import { refuseBlocked } from './blocked.js';
import { parserWords } from './parser-words.js';
import { passage } from './passage.js';

/** The detail of `execute_*`. Empty, refused, unparsable or blocked SQL is 400 (RQ-20). */
export async function assessSqlDetail(
  call: Pick<Call<unknown, unknown, unknown>, 'generation' | 'caller' | 'actor'> & { ahead?: Ahead | null },
  services: Services,
  input: CreationInput,
  dialect: Dialect | null,
): Promise<AssessedDetail> {
  const { generation, caller } = call;
  const text = { ...input, sql: input.detail, dialect, redact: true };
  const classifiedText = await classifyText(services, generation, text, call);
  const verdict = accepted(classifiedText.verdict);
  const { operation, statementType, statements, redacted: redactedDetail = unparsable } = verdict;
  const assessed = assessAccepted(generation, { ...input, dialect }, verdict, classifiedText.known);
  const { risk, review } = assessed;
  await refuseBlocked(call, services, { input, operation, redactedDetail, review });
  const missing = missingPermissions(caller, input, verdict, input);
  if (missing.length > 0) throw lacking(missing, input);
  const { policy, approval } = passage(services, input, assessed.matched, {
    level: risk.level,
    bounded: assessed.bounded,
    channel: call.actor.channel,
  });
  return {
    operation,
    statementType,
    risk: { ...risk, factors: risk.factors.map(({ name }) => name) },
    review: { policyId: review.policyId, findingsCount: review.findings.length, parseFailed: false },
    bypass: review.blocked ? { statementCount: statements.length } : null,
    dirSha256: null,
    searchPath: assessed.searchPath,
    context: collectedContext(assessed),
    explain: policy?.explain === true && !input.noResultStore ? explainables(verdict, dialect) : [],
    redactedDetail,
    policy,
    approval,
  };
}

/** AG-65. A statement that no agent may plan before approval gets its reason immediately (HD-1). */
function explainables({ statements, facts }: Accepted, dialect: Dialect | null): Explainable[] {
  return statements.flatMap(({ explainable, text }, index) => {
    const why = neverPlanned(dialect, facts[index]!);
    return explainable ? [{ sql: text, error: why === null ? null : notPlanned(why) }] : [];
  });
}

function accepted(verdict: Verdict): Accepted {
  if (verdict.verdict === 'empty') throw invalid('detail holds no statement', 'body.detail');
  if (verdict.verdict === 'refused') throw invalid(parserWords(verdict.reason), verdict.hint ?? 'body.detail');
  return verdict;
}
