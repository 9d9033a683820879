import { invalid } from '../../domain/errors.js';
import { notPlanned } from '../../domain/plan-error.js';
import { collectedContext } from '../../domain/request/context.js';
import type { Explainable } from '../../domain/request/creation.js';
import type { Dialect } from '../../domain/statement.js';
import type { Verdict } from '../../sql/judge.js';
import { neverPlanned } from '../../sql/never-planned.js';
import type { Services } from '../context.js';
import type { Call } from '../http/route.js';
import { refuseBlocked } from './blocked.js';
import type { Asked, Content } from './content.js';
import { type Accepted, judgeAccepted, judgeText, maySubmit } from './judgement.js';
import { parserWords } from './parser-words.js';

/** The content of `execute_*`. Empty, refused, unparsable or blocked SQL is 400 (RQ-20). */
export async function judgeSqlContent(
  call: Pick<Call<unknown, unknown, unknown>, 'generation' | 'caller' | 'actor'>,
  services: Services,
  { input, dialect }: Asked,
): Promise<Content> {
  const { generation, caller } = call;
  const judgedText = await judgeText(services, generation, { ...input, sql: input.detail, dialect }, caller);
  const verdict = accepted(judgedText.verdict);
  const judged = judgeAccepted(generation, { ...input, dialect }, verdict, judgedText.known);
  const { matched, risk, review } = judged;
  await refuseBlocked(call, services, { input, dialect, operation: verdict.operation, review });
  return {
    operation: verdict.operation,
    statementType: verdict.statementType,
    risk: { ...risk, factors: risk.factors.map(({ name }) => name) },
    review: { policyId: review.policyId, findingsCount: review.findings.length, parseFailed: false },
    dirSha256: null,
    bypass: review.blocked ? { statementCount: verdict.statements.length } : null,
    searchPath: judged.searchPath,
    context: collectedContext(judged),
    matched,
    bounded: judged.bounded,
    permitted: maySubmit(caller, input, verdict, input),
    explainable: explainables(verdict, dialect),
  };
}

/** A statement that no agent may plan before approval gets its reason immediately (HD-1). */
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
