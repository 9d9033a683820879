import { outsideDatabaseWork } from '../../db/call-limit.js';
import { invalid, refusal } from '../../domain/errors.js';
import { checkStatusDetail, readBundle, readRepair } from '../../domain/migration/detail.js';
import { toldDirectory } from '../../domain/migration/summary.js';
import { type Caller, can } from '../../domain/permissions.js';
import type { CreationInput } from '../../domain/request/creation.js';
import { assessRisk } from '../../domain/risk.js';
import { matchWorkflow, type Operation } from '../../domain/workflow-policy.js';
import type { Services } from '../context.js';
import type { Call } from '../route.js';
import type { Asked, Content } from './content.js';
import { parserWords } from './parser-words.js';

/** The content of `migrate_*`: what breaks MI-14 to MI-17 or AP-22 is 400, with the path of the offending value in the hint. */
export async function judgeMigrationContent(
  { generation, caller }: Pick<Call<unknown, unknown, unknown>, 'generation' | 'caller'>,
  services: Services,
  asked: Asked,
): Promise<Content> {
  const { input } = asked;
  const dirSha256 = await checkDetail(services, asked, caller);
  const matched = matchWorkflow(generation.shared.workflows, { ...input, operation: input.asked });
  const { level, factors, schemaStatus } = assessRisk({
    operation: input.asked,
    ...{ facts: [], findings: [], autoApprove: matched?.autoApprove ?? null, snapshot: null, snapshotAgeMs: 0 },
  });
  return {
    operation: input.asked,
    statementType: 'MIGRATION',
    risk: { level, factors: factors.map(({ name }) => name), schemaStatus },
    review: { policyId: null, findingsCount: 0 },
    bypass: null,
    dirSha256,
    context: { tables: null, sqlReview: null, risk: null, schemaSnapshotCollectedAt: null },
    matched,
    bounded: false,
    permitted: mayMigrate(caller, input),
    explainable: [],
  };
}

/** Gives what events tell of the directory, where the detail is a bundle (MI-12). */
async function checkDetail(services: Services, { input, dialect }: Asked, caller: Caller): Promise<string | null> {
  if (input.asked === 'migrate_status') {
    checkStatusDetail(input.detail);
    return null;
  }
  if (input.asked === 'migrate_repair') {
    readRepair(input.detail);
    return null;
  }
  const { migrations, dirSha256 } = readBundle(input.detail, input.asked === 'migrate_down' ? 'down' : 'up');
  const verdict = await outsideDatabaseWork(() => services.judge.judgeMigrations(migrations, dialect, caller.id));
  if (verdict.ok) return toldDirectory(dirSha256);
  if (verdict.busy) throw refusal('service.unavailable', 'SQL texts cannot be judged at the moment', 'try again later');
  throw invalid(parserWords(verdict.reason), `migrations[${verdict.at}].${verdict.key}`);
}

/** RQ-21 for migrations. */
function mayMigrate(caller: Caller, input: CreationInput & { asked: Operation }): boolean {
  const may = (permission: Parameters<typeof can>[1]) => can(caller, permission, input);
  if (input.allowDdl && !may('request.break_glass_ddl')) return false;
  const writes = input.emergency ? may('request.break_glass_dml') : may('request.dml') && input.asked !== 'migrate_repair';
  if (input.asked !== 'migrate_status') return writes;
  return writes || may(input.emergency ? 'request.break_glass_query' : 'request.query');
}
