import type { Form, FormLimits } from '../form.js';
import type { Reason } from '../reasons.js';
import type { Refused } from '../verdict.js';
import type { MysqlStatement } from './statement.js';

/** The form of a MySQL statement and the position of its verb, after any EXPLAIN and WITH. */
export interface MysqlForm extends Form {
  readonly verbAt: number;
}

export type Rule = (statement: MysqlStatement, at: number, limits: FormLimits) => Form | Reason | Refused | null;
