import type { JsonText } from '../../lib/json/read.js';
import { databaseName, environmentName } from '../config/target.js';
import type { Context } from '../context.js';
import { CommandFailure, failure } from '../failure.js';
import { findingLines, findingsOf } from '../output/findings.js';
import type { Answer } from '../output/output.js';
import { planLines } from '../output/query-plan.js';
import { riskText } from '../output/risk.js';
import type { Style } from '../output/style.js';
import { visible } from '../output/visible.js';
import { readStatement } from './execute.js';

export interface PreflightOptions {
  file?: string;
  explain?: boolean;
  explainTimeout?: number;
}

/** `svc preflight` (CL-30): prints the whole answer; exits 1 when it is `blocked`. */
export async function preflight(context: Context, args: readonly string[], options: PreflightOptions): Promise<Answer> {
  const sql = await readStatement(context, args[0], options.file);
  const database = databaseName(context.layers(), context.options);
  const environment = environmentName(context.layers(), context.options);
  const body = {
    database,
    environment,
    sql,
    ...(options.explain === false ? { include_explain: false } : {}),
    ...(options.explainTimeout === undefined ? {} : { explain_timeout_ms: options.explainTimeout }),
  };
  const reply = await context
    .client()
    .call({ method: 'POST', path: ['api', 'preflight'], body: JSON.stringify(body), repeatable: true });
  const answer = reply.json();
  const status = textOf(answer, 'status');
  if (status === '') throw failure('server_error', 'preflight: the answer has no status');
  const human = () => page(answer, context.output.style);
  if (status !== 'blocked') return { data: reply.text, human };
  throw new CommandFailure('blocked', `preflight: blocked: ${whyBlocked(answer)}`, { exit: 1, data: reply.text, human });
}

function whyBlocked(answer: JsonText): string {
  const blocking = findingsOf(answer).filter((finding) => textOf(finding, 'action') === 'block');
  if (blocking.length === 0) return 'you may not submit this here';
  return visible(blocking.map((finding) => textOf(finding, 'message')).join('; '));
}

function page(answer: JsonText, style: Style): string {
  const sections: [string, string[]][] = [
    ['Verdict', verdictLines(answer, style)],
    ['Findings', findingLines(answer, style)],
    ['Approval', approvalLines(answer.get('policy'), style)],
    ['Plan', planLines(answer.get('impact'), style)],
    ['Hints', hintLines(answer)],
  ];
  return sections
    .filter(([, lines]) => lines.length > 0)
    .map(([title, lines]) => `${style.bold(title)}\n${lines.map((line) => `  ${line}\n`).join('')}`)
    .join('\n');
}

const paints = { requestable: 'green', warning: 'yellow', blocked: 'red' } as const;

function verdictLines(answer: JsonText, style: Style): string[] {
  const status = textOf(answer, 'status');
  const paint = Object.hasOwn(paints, status) ? paints[status as keyof typeof paints] : 'dim';
  const factors = answer.get('risk_assessment')?.get('factors')?.items() ?? [];
  const classified = answer.get('classification');
  const count = classified?.get('statement_count')?.text ?? '0';
  const more = count === '1' ? '' : ` and others, ${count} in all`;
  return [
    style[paint](visible(status)),
    `${style.dim('risk'.padEnd(12))}${riskText(textOf(answer, 'risk'), factors)}`,
    ...(count === '0' ? [] : [`${style.dim('statement'.padEnd(12))}${visible(textOf(classified, 'statement_type'))}${more}`]),
  ];
}

/** Who must approve, step by step; empty in the blocked form, which has no workflow policy. */
function approvalLines(policy: JsonText | undefined, style: Style): string[] {
  const workflow = policy?.get('workflow_id')?.string();
  if (policy === undefined || workflow == null) return [];
  const says = (key: string) => policy.get(key)?.text === 'true';
  const steps = policy.get('approvers')?.items() ?? [];
  const isAuto = says('would_auto_approve');
  const needed = steps.map((entry) => {
    const step = Number(entry.get('step')?.text ?? 0) + 1;
    return `step ${step}  ${visible(textOf(entry, 'selector'))}, ${entry.get('min')?.text ?? '?'} needed`;
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

/** The hints. A refusal's reason is a hint too (PF-20), but it is already among the findings. */
function hintLines(answer: JsonText): string[] {
  const messages = new Set(findingsOf(answer).map((finding) => textOf(finding, 'message')));
  return ['fix_hints', 'next_actions']
    .flatMap((key) => answer.get(key)?.items() ?? [])
    .map((item) => item.string() ?? '')
    .filter((hint) => !messages.has(hint))
    .map(visible);
}

const textOf = (object: JsonText | undefined, key: string): string => object?.get(key)?.string() ?? '';
