import { countOf } from '../../lib/counts.js';
import { showDuration } from '../../lib/duration.js';
import type { JsonText } from '../../lib/json/read.js';
import { visible } from '../../lib/visible.js';
import { showValue } from './details.js';
import { digits } from './numbers.js';

/** Who approves each step: `2 from group:dba-team and user:erin`; accepts steps from lists and from resolutions. */
export function approverSteps(steps: JsonText | undefined): string[] {
  return (steps?.items() ?? []).map((step) => {
    const entries = (step.get('requirements') ?? step.get('approvers'))?.items() ?? [];
    const names = entries.map((entry) => {
      const least = digits(entry.get('min')) ?? '1';
      return (least === '1' ? '' : `${least} from `) + visible(entry.get('selector')?.string() ?? '');
    });
    return names.join(step.get('mode')?.string() === 'any' ? ' or ' : ' and ');
  });
}

/** `always`, `up to low risk`, or `no`. */
export function autoApproval(rule: JsonText | undefined): string {
  if (rule === undefined || rule.kind === 'null') return 'no';
  const level = rule.get('max_risk_level');
  return rule.get('mode')?.string() === 'risk_based' ? `up to ${showValue(level)} risk` : showValue(rule.get('mode'));
}

/** What becomes of a request, from a resolution (PO-3). */
export function decisionText(resolution: JsonText): string {
  const decision = showValue(resolution.get('decision_preview'));
  if (decision === 'may_auto_approve') {
    const level = showValue(resolution.get('auto_approve')?.get('max_risk_level'));
    return `runs at once if its risk is ${level === 'low' ? level : `${level} or lower`}`;
  }
  if (decision === 'deny') return `refused: ${whyDenied(resolution)}`;
  return decisions[decision] ?? decision.replaceAll('_', ' ');
}

const decisions: Readonly<Record<string, string>> = {
  auto_approved: 'runs at once',
  needs_approval: 'needs approval',
  break_glass_only: 'only as an emergency',
};

function whyDenied(resolution: JsonText): string {
  const channels = showValue(resolution.get('auto_approve')?.get('channels'));
  return channels === '' ? 'no workflow matches' : `allowed only through ${channels}`;
}

/** `shop/production`, of which the server writes `(shop, production)`. */
export const writtenPair = (pair: JsonText | undefined): string => showValue(pair).replace(/^\((.*), (.*)\)$/, '$1/$2');

export function executionLines(policy: JsonText | undefined): string[] {
  if (policy?.kind !== 'object') return [];
  const secs = (key: string) => inWords(digits(policy.get(key)));
  const runs = digits(policy.get('max_executions')) ?? '1';
  const onFailure = policy.get('retry_on_failure')?.text === 'true' ? 'also after a failure' : 'but not after a failure';
  const rows = digits(policy.get('max_rows'));
  const migrations = secs('migration_statement_timeout_secs') || '0 s';
  const isOwn = policy.get('explicit')?.text !== 'false';
  return [
    `policy   ${isOwn ? `for ${writtenPair(policy.get('matched_by'))}` : 'built in'}`,
    runs === '1'
      ? 'runs     once'
      : `runs     up to ${runs} times, ${onFailure}; each within ${secs('execution_window_secs')} of the last`,
    `timeout  ${secs('statement_timeout_secs')} per statement; a workflow can set up to ${secs('max_statement_timeout_secs')}`,
    `         ${migrations === '0 s' ? 'none' : migrations} in migrations`,
    ...(rows === undefined ? [] : [`rows     at most ${rows} in a result`]),
  ];
}

export function reviewLines(policy: JsonText | undefined): string[] {
  if (policy?.kind !== 'object') return [];
  const isBuiltIn = policy.get('source')?.string() === 'builtin';
  const pair = `${showValue(policy.get('database'))}/${showValue(policy.get('environment'))}`;
  return [isBuiltIn ? 'policy   built in' : `policy   ${showValue(policy.get('id'))}, for ${pair}`];
}

export function resultLines(policy: JsonText | undefined): string[] {
  if (policy?.kind !== 'object') return [];
  const id = showValue(policy.get('id'));
  const days = countOf(Number(digits(policy.get('retention_days')) ?? 0), 'day');
  const isKept = policy.get('delivery_mode')?.string() !== 'stream';
  return [
    `policy   ${id === '' ? 'built in' : id}`,
    `kept     ${isKept ? `for ${days}` : 'not at all: only whoever waits gets a result'}`,
  ];
}

/** Whole seconds stay whole. */
function inWords(secs: string | undefined): string {
  if (secs === undefined) return '';
  return Number(secs) < 60 ? `${secs} s` : showDuration(Number(secs) * 1000);
}
