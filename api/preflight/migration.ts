import { blockedAnswer, preflightAnswer } from '../../domain/preflight.js';
import type { Dialect } from '../../domain/statement.js';
import { decideAutoApproval, matchWorkflow, noWayThrough } from '../../domain/workflow-policy.js';
import type { Services } from '../context.js';
import { appliedOf } from '../requests/applied.js';
import { classifyBundle, mayMigrate } from '../requests/migration-assessment.js';
import { parserWords } from '../requests/parser-words.js';
import type { PreflightCall } from './schemas.js';

/** What creating this bundle would result in (HD-95). No plan: only the agent knows which migrations are applied. */
export async function migrationPreflight(
  { caller, actor, generation, body }: PreflightCall,
  services: Services,
  operation: 'migrate_up' | 'migrate_down',
  dialect: Dialect | null,
) {
  const classified = await classifyBundle(
    services,
    generation,
    { ...body, detail: body.sql, place: 'body.sql', operation, dialect },
    caller,
  );
  if (!classified.ok)
    return blockedAnswer(classified.unparsed ? 'parse_failure' : 'rejected', parserWords(classified.reason), classified.path);
  const workflow = matchWorkflow(generation.shared.workflows, { ...body, operation });
  if (workflow === null) return null;
  const { review, statements, versions } = classified;
  const approval = decideAutoApproval(workflow.autoApprove, 'unavailable', {
    emergency: false,
    requireApproval: false,
    bounded: false,
    channel: actor.channel,
  });
  const refused = noWayThrough(approval, workflow);
  if (refused !== null) return blockedAnswer('rejected', refused, null);
  const emergency = { emergency: true, allowDdl: review.blocked };
  const migrations = await appliedOf(services, caller, body, versions);
  const answer = preflightAnswer({
    classified: { operation, statementType: 'MIGRATION', write: true, ddl: false, statements },
    workflow,
    review,
    risk: { level: 'unavailable', factors: [] },
    approval,
    canSubmit: mayMigrate(caller, body, operation, { emergency: false, allowDdl: false }),
    breakGlassAllowed: mayMigrate(caller, body, operation, emergency) && (!review.blocked || review.bypassable),
  });
  return { ...answer, migrations };
}
