import type { JsonText } from '../../lib/json/read.js';
import { visible } from '../../lib/visible.js';
import { findingLines, textOf } from './findings.js';
import { digits } from './numbers.js';
import { changedRows } from './query-plan.js';
import { riskText } from './risk.js';
import type { Style } from './style.js';

const paints = { requestable: 'green', warning: 'yellow', blocked: 'red' } as const;

/** The verdict, the risk with its factors, and what kind of statement it is. */
export function verdictLines(answer: JsonText, style: Style): string[] {
  const status = textOf(answer, 'status');
  const paint = Object.hasOwn(paints, status) ? paints[status as keyof typeof paints] : 'dim';
  const factors = answer.get('risk_assessment')?.get('factors')?.items() ?? [];
  const classified = answer.get('classification');
  const count = digits(classified?.get('statement_count')) ?? '0';
  const more = count === '1' ? '' : ` and others, ${count} in all`;
  return [
    style[paint](visible(status)),
    `${style.dim('risk'.padEnd(12))}${riskText(textOf(answer, 'risk'), factors)}`,
    ...(count === '0' ? [] : [`${style.dim('statement'.padEnd(12))}${visible(textOf(classified, 'statement_type'))}${more}`]),
  ];
}

/** Who must approve, step by step; empty in the blocked form, which has no workflow policy. */
export function approvalLines(policy: JsonText | undefined, style: Style, isAuto = approvesItself(policy)): string[] {
  const workflow = policy?.get('workflow_id')?.string();
  if (policy === undefined || workflow == null) return [];
  const says = (key: string) => policy.get(key)?.text === 'true';
  const steps = policy.get('approvers')?.items() ?? [];
  const needed = steps.map((entry) => {
    const step = Number(entry.get('step')?.text ?? 0) + 1;
    return `step ${step}  ${visible(textOf(entry, 'selector'))}, ${digits(entry.get('min')) ?? '?'} needed`;
  });
  return [
    isAuto ? style.green('approved at once') : 'needs approval',
    // A riskier text would need these approvals.
    ...(isAuto ? needed.map((line) => style.dim(`not asked: ${line}`)) : needed),
    ...(says('caller_can_submit') ? [] : [style.red('you may not submit it')]),
    ...(says('require_reason') ? ['a reason is required'] : []),
    ...(says('break_glass_allowed') ? ['you may break glass'] : []),
  ];
}

const approvesItself = (policy: JsonText | undefined) => policy?.get('would_auto_approve')?.text === 'true';

/**
 * What somebody is about to run, before the question (CL-19): class, risk, rows, findings, and who has to approve. With `--ask` nothing
 * passes by itself (HD-26), whatever the preflight says.
 */
export function lookLines(answer: JsonText, style: Style, isAsked: boolean): string[] {
  const [, risk = '', ...statement] = verdictLines(answer, style);
  const rows = changedRows(answer.get('impact'));
  const isAuto = !isAsked && approvesItself(answer.get('policy'));
  const [passes = '', ...needed] = approvalLines(answer.get('policy'), style, isAuto);
  return [
    ...statement.map((line) => `${line}, ${classOf(answer)}`),
    risk,
    ...(rows === '' ? [] : [`${style.dim('rows'.padEnd(12))}${rows}`]),
    ...(passes === '' ? [] : [`${style.dim('approval'.padEnd(12))}${[passes, ...(isAuto ? [] : needed)].join('; ')}`]),
    ...findingLines(answer, style),
  ];
}

function classOf(answer: JsonText): string {
  const says = (key: string) => answer.get('classification')?.get(key)?.text === 'true';
  if (!says('mutating')) return 'a read';
  if (says('ddl')) return 'changes the schema';
  return says('requires_ddl_permission') ? 'changes rows and the schema' : 'changes rows';
}
