import type { AutoApprovalReason } from '../../domain/workflow-policy.js';
import type { JsonText } from '../../lib/json/read.js';
import { visible } from '../../lib/visible.js';
import { detailInstant } from './instant.js';
import { count, digits } from './numbers.js';
import { riskText } from './risk.js';
import type { Style } from './style.js';

/** The steps, what each still needs and who decided (RQ-41); empty without a workflow snapshot. */
export function approvalLines(progress: JsonText | undefined, status: string, style: Style): string[] {
  const steps = progress?.get('steps')?.items() ?? [];
  const current = Number(progress?.get('current_step')?.text ?? 0);
  return steps.flatMap((step, index) => {
    const state = step.get('satisfied')?.text === 'true' ? style.green('done') : stateOf(status, index === current, style);
    const entries = step.get('approvers_required')?.items() ?? [];
    const mode = entries.length < 2 ? '' : step.get('mode')?.string() === 'any' ? 'any of ' : 'all of ';
    const head = `step ${index + 1} of ${steps.length}  ${state}  ${mode}${entries.map(requirement).join(', ')}`;
    return [head, ...(step.get('approvals')?.items() ?? []).map((approval) => `    ${decision(approval, style)}`)];
  });
}

/** Of a step that lacks approvals: what passed without it did not need it. */
function stateOf(status: string, isCurrent: boolean, style: Style): string {
  if (status === 'pending') return isCurrent ? style.yellow('open') : style.dim('later');
  if (status === 'rejected' && isCurrent) return style.red('rejected');
  return style.dim(['rejected', 'cancelled', 'expired'].includes(status) ? 'not decided' : 'not needed');
}

/** What classification and review found (RQ-42): tables, risk with its factors, findings. */
export function contextLines(context: JsonText | undefined, style: Style): string[] {
  if (context?.kind !== 'object') return [];
  const tables =
    context
      .get('tables')
      ?.items()
      .map((table) => visible(table.string() ?? tableName(table))) ?? [];
  const risk = context.get('risk');
  const seen = context.get('schema_snapshot_collected_at')?.string();
  const findings = context.get('sql_review')?.get('findings')?.items() ?? [];
  return [
    ...(tables.length === 0 ? [] : [`tables   ${tables.join(', ')}`]),
    ...(risk?.kind === 'object'
      ? [`risk     ${riskText(risk.get('level')?.string() ?? '', risk.get('factors')?.items() ?? [])}`]
      : []),
    ...neverAnalysed(risk).map((table) => `hint     run ANALYZE on ${table}: its size is not known`),
    ...findings.map(
      (finding) =>
        `finding  ${visible(['level', 'version', 'rule', 'message'].flatMap((key) => finding.get(key)?.string() ?? []).join(' '))}`,
    ),
    ...(seen == null ? [] : [`schema   seen at ${detailInstant(visible(seen), style)}`]),
  ];
}

function neverAnalysed(risk: JsonText | undefined): string[] {
  const factor = risk
    ?.get('factors')
    ?.items()
    .find((one) => one.get('name')?.string() === 'never_analysed');
  return (
    factor
      ?.get('tables')
      ?.items()
      .map((table) => visible(table.string() ?? '')) ?? []
  );
}

/** Why the request needed approval or not (RQ-44). */
export function traceLines(trace: JsonText | undefined): string[] {
  const decisionPart = trace?.get('decision');
  if (decisionPart?.kind !== 'object') return [];
  const reasons =
    decisionPart
      .get('reasons')
      ?.items()
      .map((reason) => reasonText(reason.string() ?? '')) ?? [];
  const workflow = policyText(trace?.get('workflow')?.get('matched'), 'id');
  const review = policyText(trace?.get('sql_review'), 'policy_id');
  const threshold = decisionPart.get('auto_approve_threshold')?.string();
  return [
    `${visible(decisionPart.get('outcome')?.string() ?? '').replaceAll('_', ' ')}${reasons.length === 0 ? '' : `: ${reasons.join(', ')}`}`,
    workflow === null ? 'no workflow policy matched' : `workflow policy ${workflow}`,
    ...(review === null ? [] : [`review policy ${review}`]),
    ...(threshold == null ? [] : [`approved automatically up to ${visible(threshold)} risk`]),
  ];
}

const reasonTexts: Readonly<Record<AutoApprovalReason, string>> = {
  explicit_always: 'the policy always approves it',
  risk_below_threshold: 'its risk is low enough',
  risk_above_threshold: 'its risk is too high',
  risk_unavailable: 'its risk is unknown',
  rows_not_bounded: 'the number of rows that it changes cannot be limited',
  approval_requested: 'the requester asked for it',
  channel_not_allowed: 'the policy approves nothing that comes this way',
  no_auto_approve_rule: 'the policy approves nothing automatically',
  break_glass: 'an emergency',
};

const reasonText = (name: string): string =>
  Object.hasOwn(reasonTexts, name) ? reasonTexts[name as AutoApprovalReason] : visible(name);

/** `wf:*:staging:e3b0c44298fc (r7, 3fa2b1c0d9e8)`: the id, and the version by which the request was judged. */
function policyText(policy: JsonText | undefined, idKey: string): string | null {
  const id = policy?.get(idKey)?.string();
  if (id == null) return null;
  const version = ['revision', 'digest'].flatMap((key) => policy?.get(key)?.string() ?? []);
  return visible(`${id}${listed(version)}`);
}

function requirement(entry: JsonText): string {
  return `${visible(entry.get('selector')?.string() ?? '')} ${digits(entry.get('current')) ?? '?'}/${digits(entry.get('min')) ?? '?'}`;
}

function decision(approval: JsonText, style: Style): string {
  const text = (key: string) => visible(approval.get(key)?.string() ?? '');
  const verb =
    text('action') === 'reject' ? 'rejected' : text('selector') === '' ? 'approved' : `approved for ${text('selector')}`;
  return `${text('user')} ${verb} ${detailInstant(text('at'), style)}${text('comment') ? `: ${text('comment')}` : ''}`;
}

/** `billing.invoices (4,000 rows; deletes from order_items)`; omits the schema `public`. */
function tableName(table: JsonText): string {
  const name = (one: JsonText) =>
    [one.get('schema_name')?.string(), one.get('name')?.string()].filter((part) => part && part !== 'public').join('.');
  const rows = count(table.get('estimated_rows'));
  const children = table.get('cascade_children')?.items().map(name) ?? [];
  const more = table.get('cascade_children_truncated')?.text === 'true' ? ' and more' : '';
  const details = [
    rows === '' ? '' : `${rows} rows`,
    children.length === 0 ? '' : `a DELETE also removes rows of ${children.join(', ')}${more}`,
  ].filter(Boolean);
  return `${name(table)}${details.length === 0 ? '' : ` (${details.join('; ')})`}`;
}

function listed(names: readonly string[]): string {
  return names.length === 0 ? '' : ` (${names.join(', ')})`;
}
