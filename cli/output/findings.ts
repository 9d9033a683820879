import type { JsonText } from '../../lib/json/read.js';
import { visible } from '../../lib/visible.js';
import type { Style } from './style.js';

/** A preflight's findings, one line each, in columns; with several statements, each line names its statement. */
export function findingLines(answer: JsonText, style: Style): string[] {
  const findings = findingsOf(answer);
  const width = Math.max(0, ...findings.map((finding) => textOf(finding, 'code').length));
  const several = answer.get('classification')?.get('multi_statement')?.text === 'true';
  return findings.map((finding) => {
    const action = visible(textOf(finding, 'action')).padEnd(5);
    const painted = action === 'block' ? style.red(action) : style.yellow(action);
    const version = textOf(finding, 'version');
    const statement = `statement ${Number(finding.get('statement_index')?.text ?? 0) + 1}`;
    const place = version === '' ? (several ? `${statement}: ` : '') : `${visible(version)}, ${statement}: `;
    return `${painted}  ${visible(textOf(finding, 'code')).padEnd(width)}  ${place}${visible(textOf(finding, 'message'))}`;
  });
}

/** Why a preflight is `blocked`, in one line. */
export function whyBlocked(answer: JsonText): string {
  const blocking = findingsOf(answer).filter((finding) => textOf(finding, 'action') === 'block');
  if (blocking.length === 0) return 'you may not submit this here';
  return visible(blocking.map((finding) => textOf(finding, 'message')).join('; '));
}

export const findingsOf = (answer: JsonText) => answer.get('review')?.get('findings')?.items() ?? [];

export const textOf = (object: JsonText | undefined, key: string): string => object?.get(key)?.string() ?? '';
