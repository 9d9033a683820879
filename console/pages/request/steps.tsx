import type { Schema } from '../../http/client.js';
import { Badge } from '../../parts/badge.js';
import { Section } from '../../parts/section.js';
import { Name, Text } from '../../parts/text.js';
import { When } from '../../parts/when.js';

type Step = Schema['ApprovalStep'];

/** Who has to approve, and who has decided. */
export function Steps({ request: { approval_progress, status } }: { request: Schema['Request'] }) {
  if (approval_progress === null || approval_progress.steps.length === 0) return null;
  const { steps, current_step } = approval_progress;
  return (
    <Section title="Approval" note={`${Math.min(current_step, steps.length)} of ${steps.length} done`}>
      <ol class="steps">
        {steps.map((step) => (
          <li key={step.index}>
            <p>
              <State step={step} status={status} isCurrent={step.index === current_step} /> Step {step.index + 1}
              {step.approvers_required.length > 1 && <span class="quiet"> {step.mode === 'any' ? 'any of' : 'all of'}</span>}
            </p>
            <ul class="plain-list">
              {step.approvers_required.map(({ selector, min, current }) => (
                <li key={selector}>
                  <Name of={selector} />{' '}
                  <span class="quiet">
                    {current} of {min}
                  </span>
                </li>
              ))}
            </ul>
            {step.approvals.map((approval) => (
              <Decision key={`${approval.user} ${approval.at}`} approval={approval} />
            ))}
          </li>
        ))}
      </ol>
    </Section>
  );
}

function State({ step, status, isCurrent }: { step: Step; status: string; isCurrent: boolean }) {
  if (step.satisfied) return <Badge tone="good">✓ done</Badge>;
  if (status === 'pending') return isCurrent ? <Badge tone="wait">◷ open</Badge> : <Badge tone="off">later</Badge>;
  if (status === 'rejected' && isCurrent) return <Badge tone="bad">⊘ rejected</Badge>;
  return <Badge tone="off">{['rejected', 'cancelled', 'expired'].includes(status) ? 'not decided' : 'not needed'}</Badge>;
}

function Decision({ approval: { user, action, selector, at, comment } }: { approval: Step['approvals'][number] }) {
  return (
    <p class="decision">
      <strong>
        <Text of={user} />
      </strong>{' '}
      {action === 'approve' ? (
        <>
          approved for <Name of={selector} />
        </>
      ) : (
        'rejected'
      )}{' '}
      <When at={at} />
      {comment !== null && (
        <>
          : “<Text of={comment} />”
        </>
      )}
    </p>
  );
}
