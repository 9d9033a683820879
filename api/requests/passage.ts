import type { WorkflowPolicy } from '../../domain/policies.js';
import type { CreationInput, NewRequest } from '../../domain/request/new-request.js';
import { decideAutoApproval, type Passing, type RiskLevel, snapshotWorkflow } from '../../domain/workflow-policy.js';
import type { Services } from '../context.js';

/** How a new request passes: its copy of the workflow policy that it matched, and whether the steps of that are needed. */
export function passage(
  services: Services,
  input: CreationInput,
  matched: WorkflowPolicy | null,
  { level, bounded, channel }: { level: RiskLevel } & Pick<Passing, 'bounded' | 'channel'>,
): Pick<NewRequest, 'policy' | 'approval'> {
  return {
    policy: matched === null ? null : snapshotWorkflow(matched, services.config().retention.approvalTtlSecs),
    approval: decideAutoApproval(matched?.autoApprove ?? null, level, { ...input, bounded, channel }),
  };
}
