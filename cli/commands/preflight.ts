import type { JsonText } from '../../lib/json/read.js';
import { visible } from '../../lib/visible.js';
import { databaseName, environmentName } from '../config/target.js';
import type { Context } from '../context.js';
import { CommandFailure, failure } from '../failure.js';
import { findingLines, findingsOf, textOf, whyBlocked } from '../output/findings.js';
import type { Answer } from '../output/output.js';
import { approvalLines, verdictLines } from '../output/preflight-parts.js';
import { planLines, unknownName } from '../output/query-plan.js';
import { renderSections, type Section } from '../output/sections.js';
import type { Style } from '../output/style.js';
import { warnOf } from '../output/warnings.js';
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
  warnOf(context, answer);
  const status = textOf(answer, 'status');
  if (status === '') throw failure('server_error', 'preflight: the answer has no status');
  const human = () => page(answer, sql, context.output.style);
  const why = status === 'blocked' ? `blocked: ${whyBlocked(answer)}` : unknownName(answer, sql);
  if (why === null) return { data: reply.text, human };
  throw new CommandFailure('blocked', `preflight: ${why}`, { exit: 1, data: reply.text, human });
}

function page(answer: JsonText, sql: string, style: Style): string {
  const sections: Section[] = [
    ['Verdict', verdictLines(answer, style)],
    ['Findings', findingLines(answer, style)],
    ['Approval', approvalLines(answer.get('policy'), style)],
    ['Plan', planLines(answer.get('impact'), sql, style)],
    ['Hints', hintLines(answer)],
  ];
  return renderSections(sections, style);
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
