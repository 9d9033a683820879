import type { JsonText } from '../lib/json/read.js';
import type { Context } from './context.js';
import { CommandFailure, failure } from './failure.js';
import { unknownName } from './output/query-plan.js';

/** A plan that takes longer holds up the person more than it helps. */
const planMs = 2000;

export interface Looked {
  database: string;
  environment: string;
  sql: string;
}

/**
 * Preflights a text before its request is created (CL-19). Null if the preflight fails; the creation classifies the text anyway. An unknown table or
 * column ends the command before an approver sees the request.
 */
export async function lookFirst(context: Context, content: Looked): Promise<JsonText | null> {
  const answer = await askPreflight(context, { ...content, explain_timeout_ms: planMs });
  const unknown = answer === null ? null : unknownName(answer, content.sql);
  if (unknown === null) return answer;
  throw failure('blocked', `${context.what}: ${unknown}`, { hint: 'nothing was sent; --no-preflight sends it anyway' });
}

/** What the server says of a request before it is created; null when the caller may not ask, or the server does not know. */
export async function askPreflight(context: Context, about: object): Promise<JsonText | null> {
  try {
    const body = JSON.stringify(about);
    return (await context.client().call({ method: 'POST', path: ['api', 'preflight'], body, repeatable: false })).json();
  } catch (error) {
    if (!(error instanceof CommandFailure) || error.code === 'interrupted') throw error;
    return null;
  }
}
