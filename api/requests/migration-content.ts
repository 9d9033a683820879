import { invalid } from '../../domain/errors.js';
import { checkStatusDetail, readRepair } from '../../domain/migration/detail.js';
import { toldDirectory } from '../../domain/migration/summary.js';
import { shownReview } from '../../domain/request/context.js';
import { assessRisk } from '../../domain/risk.js';
import { matchWorkflow } from '../../domain/workflow-policy.js';
import type { Services } from '../context.js';
import type { Call } from '../http/route.js';
import { refuseBlocked } from './blocked.js';
import type { Asked, Content } from './content.js';
import { judgeBundle, mayMigrate } from './migration-judgement.js';
import { parserWords } from './parser-words.js';

type ContentCall = Pick<Call<unknown, unknown, unknown>, 'generation' | 'caller' | 'actor'>;

/**
 * The content of `migrate_*`. A breach of MI-14 to MI-17 or AP-22 is 400, with the path of the offending value in the hint. So is a text
 * that the review blocks (HD-95).
 */
export async function judgeMigrationContent(call: ContentCall, services: Services, asked: Asked): Promise<Content> {
  const { input } = asked;
  const detail = await judgeDetail(call, services, asked);
  const matched = matchWorkflow(call.generation.shared.workflows, { ...input, operation: input.asked });
  const { level, factors, schemaStatus } = assessRisk({
    operation: input.asked,
    ...{ facts: [], findings: [], autoApprove: matched?.autoApprove ?? null, snapshot: null, snapshotAgeMs: 0 },
  });
  return {
    operation: input.asked,
    statementType: 'MIGRATION',
    risk: { level, factors: factors.map(({ name }) => name), schemaStatus },
    ...detail,
    matched,
    bounded: false,
    searchPath: null,
    permitted: mayMigrate(call.caller, input, input.asked, input),
    explainable: [],
  };
}

type Detail = Pick<Content, 'review' | 'bypass' | 'dirSha256' | 'context'>;

const notReviewed: Detail = {
  review: { policyId: null, findingsCount: 0, parseFailed: false },
  bypass: null,
  dirSha256: null,
  context: { tables: null, sqlReview: null, risk: null, schemaSnapshotCollectedAt: null },
};

async function judgeDetail(call: ContentCall, services: Services, { input, dialect }: Asked): Promise<Detail> {
  const operation = input.asked;
  if (operation === 'migrate_status') {
    checkStatusDetail(input.detail);
    return notReviewed;
  }
  if (operation !== 'migrate_up' && operation !== 'migrate_down') {
    readRepair(input.detail);
    return notReviewed;
  }
  const judged = await judgeBundle(
    services,
    call.generation,
    { ...input, place: 'body.detail', operation, dialect },
    call.caller,
  );
  if (!judged.ok) throw invalid(parserWords(judged.reason), judged.path);
  const { review } = judged;
  await refuseBlocked(call, services, { input, dialect, operation, review });
  return {
    review: { policyId: review.policyId, findingsCount: review.found, parseFailed: review.parseFailed },
    bypass: review.blocked ? { statementCount: judged.statements } : null,
    // How events describe the directory (MI-12).
    dirSha256: toldDirectory(judged.dirSha256),
    context: { ...notReviewed.context, sqlReview: shownReview(review) },
  };
}
