import { readJson } from '../../lib/json/read.js';
import { CHANNELS } from '../policies.js';
import { bool, integer, list, nullable, oneOf, openObject, optional, text, type ValueOf } from './shape.js';

/** What decides about approvals. The other members of a policy are limits and clocks. */
const workflow = openObject({
  id: text,
  steps: list(openObject({ mode: oneOf('all', 'any'), approvers: list(openObject({ selector: text, min: integer })) })),
  requireReason: bool,
  allowSelfApprove: bool,
  allowSameApproverAcrossSteps: bool,
  autoApprove: nullable(
    openObject({
      mode: oneOf('always', 'risk_based'),
      risk: nullable(oneOf('low', 'medium', 'high')),
      channels: optional(list(oneOf(...CHANNELS))),
    }),
  ),
});

export type EvidencePolicy = ValueOf<typeof workflow>;

/** The stored copy of a workflow policy from its canonical text. */
export function readPolicy(canonical: string): EvidencePolicy | 'malformed' {
  try {
    return workflow(readJson(canonical), 'workflow');
  } catch {
    return 'malformed';
  }
}
