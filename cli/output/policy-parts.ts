import type { JsonText } from '../../lib/json/read.js';
import { visible } from '../../lib/visible.js';
import { showValue } from './details.js';
import { digits } from './numbers.js';

/** Each step in words: `all of group:dba-team (2), user:erin`; accepts steps from lists and from resolutions. */
export function approverSteps(steps: JsonText | undefined): string[] {
  return (steps?.items() ?? []).map((step) => {
    const entries = (step.get('requirements') ?? step.get('approvers'))?.items() ?? [];
    const names = entries.map((entry) => {
      const least = digits(entry.get('min')) ?? '1';
      return visible(entry.get('selector')?.string() ?? '') + (least === '1' ? '' : ` (${least})`);
    });
    return entries.length === 1 ? names.join() : `${showValue(step.get('mode'))} of ${names.join(', ')}`;
  });
}

/** `always`, `up to low risk`, or `no`. */
export function autoApproval(rule: JsonText | undefined): string {
  if (rule === undefined || rule.kind === 'null') return 'no';
  const level = rule.get('max_risk_level');
  return rule.get('mode')?.string() === 'risk_based' ? `up to ${showValue(level)} risk` : showValue(rule.get('mode'));
}
