import { listApprovers } from '../../db/approvers.js';
import type { Caller, Pair } from '../../domain/caller.js';
import type { Operation } from '../../domain/policies.js';
import { matchWorkflow } from '../../domain/workflow-policy.js';
import { approverShortage } from '../../runtime/approver-shortage.js';
import type { Generation, Services } from '../context.js';

/** Warns whoever asks for a request that nobody can approve (RQ-38). A failure to look costs the warning only. */
export async function approverWarnings(
  services: Services,
  generation: Generation,
  { database, environment, operation }: Pair & { operation: Operation },
  { id: requester }: Caller,
): Promise<string[]> {
  const policy = matchWorkflow(generation.shared.workflows, { database, environment, operation });
  if (policy === null) return [];
  const settings = { shared: generation.shared, hasProvider: services.config().auth.oidc !== null };
  const asked = { pair: { database, environment }, requester };
  const list = (...named: Parameters<Parameters<typeof approverShortage>[3]>) => listApprovers(services.database, ...named);
  const shortage = await approverShortage(settings, policy, asked, list).catch(() => null);
  return shortage === null ? [] : [shortage];
}
