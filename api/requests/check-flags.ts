import type { Actor } from '../../domain/audit/draft.js';
import { invalid } from '../../domain/errors.js';
import type { CreationInput } from '../../domain/request/new-request.js';

/** RQ-14 to RQ-16: which flags of a creation go together, and which may come this way. */
export function checkFlags(input: CreationInput, channel: Actor['channel']): void {
  if (input.allowDdl && !input.emergency) throw invalid('allow_ddl needs emergency', 'body.allow_ddl');
  if (input.asked === 'migrate_repair' && !input.emergency) throw invalid('migrate_repair needs emergency', 'body.emergency');
  if (input.requireApproval && input.emergency) throw invalid('an emergency takes no approval steps', 'body.require_approval');
  if (input.emergency && input.reason === null)
    throw invalid('a reason is required for an emergency', 'body.reason', 'reason_required');
  // Only a person calling the API may bypass approvers, never an MCP client or Slack. `allow_ddl` implies `emergency`.
  if (input.emergency && channel !== undefined) throw invalid(`an emergency cannot come through ${channel}`, 'body.emergency');
}
