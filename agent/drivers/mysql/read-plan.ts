import { problemInPlan } from '../read-plan.js';
import { asMysqlError } from './errors.js';
import type { MysqlSession } from './session.js';

/** EXPLAIN of a view needs SHOW VIEW, which an account that can only SELECT lacks. */
const NO_EXPLAIN_OF_VIEW = 1345;

/** Why the plan of a read would write, or null (AP-31); `plan` is the text of `EXPLAIN FORMAT=JSON`. */
export function mysqlPlanProblem(plan: string): string | null {
  return problemInPlan(plan, (node) => {
    const verb = ['insert', 'update', 'delete', 'replace', 'insert_from'].find((one) => Object.hasOwn(node, one));
    return verb === undefined ? null : `the plan has the operation ${verb}`;
  });
}

/** Plans a read and judges the plan. A view that is readable but not plannable is left to the other guards. */
export async function checkPlan(session: MysqlSession, text: string): Promise<string | null> {
  try {
    return mysqlPlanProblem(await explainMysql(session, text));
  } catch (error) {
    if (asMysqlError(error)?.errno === NO_EXPLAIN_OF_VIEW) return null;
    throw error;
  }
}

export async function explainMysql(session: MysqlSession, text: string): Promise<string> {
  const [row] = await session.query(`explain format=json ${text}`);
  return row?.[0] ?? 'null';
}
