import { withCommas } from '../../../lib/counts.js';
import { changedRows, noPlanText } from '../../format/plan.js';
import { type Factor, factorText } from '../../format/risk.js';
import type { Schema } from '../../http/client.js';
import { Badge, Risk } from '../../parts/badge.js';
import { PlanTree } from '../../parts/plan-tree.js';
import { Problem } from '../../parts/problem.js';
import { Empty, Facts, Section } from '../../parts/section.js';
import { Name, Text } from '../../parts/text.js';
import type { Preflighted } from './use-preflight.js';

type Found = Schema['Preflight'];

/** What the request would come to, while it is written. */
export function PreflightCard({ found, error, isAsking, sql }: Preflighted & { sql: string }) {
  return (
    <Section title="What it would come to" note={<span role="status">{isAsking ? 'looking …' : ''}</span>}>
      <Problem error={error} />
      {found === null ? (
        error === null && <Empty>Choose a database and write: class, risk, findings and approvers appear here.</Empty>
      ) : (
        <Whole found={found} sql={sql} />
      )}
    </Section>
  );
}

const verdicts = {
  requestable: { tone: 'good', word: '✓ can be requested' },
  warning: { tone: 'wait', word: '! can be requested, with warnings' },
  blocked: { tone: 'bad', word: '✕ blocked' },
} as const;

function Whole({ found, sql }: { found: Found; sql: string }) {
  const { status, classification, risk, risk_assessment, impact, policy, warnings = [], fix_hints } = found;
  const rows = impact.status === 'completed' ? changedRows(impact.explain_plan) : null;
  const factors = (risk_assessment.factors as Factor[]).map(factorText).join(', ');
  return (
    <>
      <p>
        <Badge tone={verdicts[status].tone}>{verdicts[status].word}</Badge>
      </p>
      <Facts
        of={[
          [
            'Class',
            `${classification.statement_type.toLowerCase()}, ${classOf(classification)}${several(classification.statement_count)}`,
          ],
          [
            'Risk',
            <span key="risk">
              <Risk level={risk} /> <Text of={factors} />
            </span>,
          ],
          ['Rows', rows === null ? '' : `about ${withCommas(rows)}, by the plan`],
          ['Approval', <Approval key="approval" policy={policy} />],
        ]}
      />
      <Found findings={found.review.findings} several={classification.multi_statement} />
      {[...warnings, ...fix_hints].map((line) => (
        <p key={line} class="quiet">
          <Text of={line} />
        </p>
      ))}
      <Impact impact={impact} sql={sql} />
    </>
  );
}

const several = (count: number) => (count > 1 ? `, ${count} statements` : '');

function classOf({ mutating, ddl, requires_ddl_permission }: Found['classification']): string {
  if (!mutating) return 'a read';
  if (ddl) return 'changes the schema';
  return requires_ddl_permission ? 'changes rows and the schema' : 'changes rows';
}

function Approval({ policy }: { policy: Found['policy'] }) {
  if (policy.workflow_id === null) return <>no workflow policy matches</>;
  if (policy.would_auto_approve) return <>approved automatically</>;
  return (
    <>
      {policy.approvers.map(({ selector, min, step }) => (
        <span key={`${step} ${selector}`} class="approver">
          step {step + 1}: <Name of={selector} />, {min} needed{' '}
        </span>
      ))}
      {!policy.caller_can_submit && <Badge tone="bad">you may not submit it</Badge>}
    </>
  );
}

function Found({ findings, several: many }: { findings: Found['review']['findings']; several: boolean }) {
  if (findings.length === 0) return null;
  return (
    <ul class="plain-list findings">
      {findings.map(({ code, action, message, statement_index, line }) => (
        <li key={`${statement_index} ${code}`} class="finding">
          <Badge tone={action === 'block' ? 'bad' : 'wait'}>{action === 'block' ? 'blocks' : 'warns'}</Badge>
          <span>
            <Text of={message} />{' '}
            <span class="quiet">
              <Name of={code} />
              {many && ` statement ${statement_index + 1}`}
              {line !== undefined && ` line ${line}`}
            </span>
          </span>
        </li>
      ))}
    </ul>
  );
}

function Impact({ impact, sql }: { impact: Found['impact']; sql: string }) {
  if (impact.status === 'skipped') return null;
  if (impact.status === 'completed')
    return (
      <details class="plan-details">
        <summary>Plan{impact.index_used === false && ', no index is used'}</summary>
        <PlanTree plan={impact.explain_plan} />
      </details>
    );
  return (
    <p class={impact.error === undefined ? 'quiet' : 'told'}>
      <Text of={noPlanText(impact, sql)} />
    </p>
  );
}
