import type { Form } from '../form.js';
import { refuseFor } from '../reasons.js';
import { listOf, nodeOf, type TreeNode, textOf } from '../tree.js';
import type { Refused } from '../verdict.js';

/** SET, SET TIME ZONE, SET NAMES and RESET of PostgreSQL: the form of an allowed setting, or why it is refused (SQ-29, SQ-31, SQ-50, SQ-51). */
export function setting(body: TreeNode, statementTimeoutSecs: number): Form | Refused {
  const name = textOf(body.name).toLowerCase();
  if (body.kind === 'VAR_SET_MULTI') return refuseFor('transaction control', `SET ${textOf(body.name)}`);
  if (body.kind !== 'VAR_SET_VALUE' && body.kind !== 'VAR_SET_DEFAULT') return refuseFor('session state', `RESET ${name}`.trim());
  const limit = Object.hasOwn(allowed, name) ? allowed[name] : undefined;
  if (limit === undefined)
    return refuseFor('session state', `SET ${name}`, `these may be set: ${Object.keys(allowed).join(', ')}`);
  const why = limit(body.kind === 'VAR_SET_DEFAULT' ? null : valuesOf(body), statementTimeoutSecs);
  return why === null ? { class: 'setting', kind: 'setting', type: 'SELECT', inside: 'runs' } : refuseFor('session state', why);
}

/** Gets the values as written, null for DEFAULT. Returns what is wrong, or null. */
type Limit = (values: readonly string[] | null, statementTimeoutSecs: number) => string | null;
const anything: Limit = () => null;

const allowed: Readonly<Record<string, Limit>> = {
  statement_timeout: limitTimeout,
  lock_timeout: anything,
  idle_in_transaction_session_timeout: limitIdle,
  timezone: anything,
  datestyle: anything,
  client_encoding: limitEncoding,
  application_name: anything,
  extra_float_digits: anything,
};

function limitTimeout(values: readonly string[] | null, statementTimeoutSecs: number): string | null {
  const ms = values?.length === 1 ? milliseconds(values[0] ?? '') : null;
  const max = statementTimeoutSecs === 0 ? Number.MAX_SAFE_INTEGER : statementTimeoutSecs * 1000;
  // Below 1 ms the server may round to 0, which means no timeout.
  if (ms !== null && ms >= 1 && ms <= max) return null;
  return `statement_timeout must be at least 1 ms${statementTimeoutSecs === 0 ? '' : ` and at most ${statementTimeoutSecs} s`}`;
}

/** The server would end the agent's session between two steps, as if the database were away. */
function limitIdle(values: readonly string[] | null): string | null {
  if (values === null) return null;
  const ms = values.length === 1 ? milliseconds(values[0] ?? '') : null;
  if (ms !== null && (ms === 0 || ms >= 10_000)) return null;
  return 'idle_in_transaction_session_timeout must be 0 or at least 10 s';
}

function limitEncoding(values: readonly string[] | null): string | null {
  return values?.length === 1 && values[0]?.toLowerCase() === 'utf8' ? null : 'client_encoding must be UTF8';
}

/** Leading zeros are rejected: the server reads them as octal. */
const duration = /^\s*(0|[1-9]\d*)(\.\d+)?\s*(us|ms|s|min|h|d)?\s*$/;
const msOf: Readonly<Record<string, number>> = { us: 0.001, ms: 1, s: 1000, min: 60_000, h: 3_600_000, d: 86_400_000 };

function milliseconds(value: string): number | null {
  const match = duration.exec(value);
  return match === null ? null : Number(`${match[1]}${match[2] ?? ''}`) * (msOf[match[3] ?? 'ms'] ?? Number.NaN);
}

export function valuesOf(body: TreeNode): readonly string[] {
  return listOf(body.args).map((arg) => {
    const { sval, ival, fval } = nodeOf(nodeOf(arg).A_Const);
    if (sval !== undefined) return textOf(nodeOf(sval).sval);
    if (fval !== undefined) return textOf(nodeOf(fval).fval);
    return ival === undefined ? '' : String(nodeOf(ival).ival ?? 0);
  });
}
