import { countOf } from '../../lib/counts.js';
import { type Check, type CheckStatus, summaryOf } from '../../lib/doctor-checks.js';
import { visible } from '../../lib/visible.js';
import { CommandFailure } from '../failure.js';
import type { Answer, Output } from '../output/output.js';
import type { Style } from '../output/style.js';

/** The answer of `svc doctor`; a failure where a check failed (CL-45). */
export function report(found: readonly Check[], { style, pasteable }: Pick<Output, 'style' | 'pasteable'>): Answer {
  const checks = found.map((check) => ({ ...check, hint: check.hint === null ? null : pasteable(check.hint) }));
  const summary = summaryOf(checks);
  const data = JSON.stringify({ checks, summary });
  const human = () => `${checks.map((check) => lines(check, style)).join('')}\n${totals(summary)}\n`;
  if (summary.failed === 0) return { data, human };
  throw new CommandFailure('doctor_issues_found', `doctor: ${countOf(summary.failed, 'check')} failed`, { data, human, exit: 2 });
}

const words = { pass: 'ok', warn: 'warn', fail: 'FAIL', skip: 'skip' } as const satisfies Record<CheckStatus, string>;
const colours = { pass: 'green', warn: 'yellow', fail: 'red', skip: 'dim' } as const satisfies Record<CheckStatus, keyof Style>;

/** The longest id is `built_in_role_collision`. */
const idWidth = 23;

function lines({ id, status, message, hint }: Check, style: Style): string {
  const first = `${style[colours[status]](words[status].padEnd(4))}  ${id.padEnd(idWidth)}  ${visible(message)}\n`;
  return hint === null ? first : `${first}${' '.repeat(idWidth + 8)}${style.cyan('hint:')} ${visible(hint)}\n`;
}

function totals({ passed, warnings, failed, skipped }: ReturnType<typeof summaryOf>): string {
  return `${passed} passed, ${countOf(warnings, 'warning')}, ${failed} failed, ${skipped} skipped`;
}
