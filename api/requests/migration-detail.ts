import { invalid } from '../../domain/errors.js';
import { lacking } from '../../domain/lacking.js';
import { checkStatusDetail, readRepair } from '../../domain/migration/detail.js';
import { migrationSummary, toldDirectory } from '../../domain/migration/summary.js';
import { shownReview } from '../../domain/request/context.js';
import type { AssessedDetail, CreationInput } from '../../domain/request/new-request.js';
import { assessRisk } from '../../domain/risk.js';
import type { Dialect } from '../../domain/statement.js';
import { matchWorkflow } from '../../domain/workflow-policy.js';
import type { Services } from '../context.js';
import type { Call } from '../http/route.js';
import { refuseBlocked } from './blocked.js';
import { classifyBundle, missingForMigration } from './migration-assessment.js';
import { parserWords } from './parser-words.js';
import { passage } from './passage.js';

type DetailCall = Pick<Call<unknown, unknown, unknown>, 'generation' | 'caller' | 'actor'>;

/**
 * The detail of `migrate_*`. A breach of MI-14 to MI-17 or AP-22 is 400, with the path of the offending value in the hint. So is a text
 * that the review blocks (HD-95).
 */
export async function assessMigrationDetail(
  call: DetailCall,
  services: Services,
  input: CreationInput,
  dialect: Dialect | null,
): Promise<AssessedDetail> {
  const { asked: operation } = input;
  const reviewed = await reviewDetail(call, services, input, dialect);
  const missing = missingForMigration(call.caller, input, operation, input);
  if (missing.length > 0) throw lacking(missing, input);
  const matched = matchWorkflow(call.generation.shared.workflows, { ...input, operation });
  const autoApprove = matched?.autoApprove ?? null;
  const risk = assessRisk({ operation, facts: [], findings: [], autoApprove, snapshot: null, snapshotAgeMs: 0 });
  return {
    operation,
    statementType: 'MIGRATION',
    risk: { ...risk, factors: risk.factors.map(({ name }) => name) },
    ...reviewed,
    searchPath: null,
    explain: [],
    redactedDetail: migrationSummary(operation, input.detail),
    ...passage(services, input, matched, { level: risk.level, bounded: false, channel: call.actor.channel }),
  };
}

type ReviewedDetail = Pick<AssessedDetail, 'review' | 'bypass' | 'dirSha256' | 'context'>;

const notReviewed: ReviewedDetail = {
  review: { policyId: null, findingsCount: 0, parseFailed: false },
  bypass: null,
  dirSha256: null,
  context: { tables: null, sqlReview: null, risk: null, schemaSnapshotCollectedAt: null },
};

async function reviewDetail(
  call: DetailCall,
  services: Services,
  input: CreationInput,
  dialect: Dialect | null,
): Promise<ReviewedDetail> {
  const { asked: operation, detail } = input;
  if (operation === 'migrate_status') {
    checkStatusDetail(detail);
    return notReviewed;
  }
  if (operation !== 'migrate_up' && operation !== 'migrate_down') {
    readRepair(detail);
    return notReviewed;
  }
  const bundle = { ...input, place: 'body.detail', operation, dialect };
  const classified = await classifyBundle(services, call.generation, bundle, call.caller);
  if (!classified.ok) throw invalid(parserWords(classified.reason), classified.path);
  const { review } = classified;
  const redactedDetail = migrationSummary(operation, detail);
  await refuseBlocked(call, services, { input, operation, redactedDetail, review });
  return {
    review: { policyId: review.policyId, findingsCount: review.found, parseFailed: review.parseFailed },
    bypass: review.blocked ? { statementCount: classified.statements } : null,
    // How events describe the directory (MI-12).
    dirSha256: toldDirectory(classified.dirSha256),
    context: { ...notReviewed.context, sqlReview: shownReview(review) },
  };
}
