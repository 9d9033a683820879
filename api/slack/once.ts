import { forgetView, rememberView } from '../../db/slack-signatures.js';
import { GatewayError, refusal } from '../../domain/errors.js';
import { httpStatus } from '../../runtime/http-errors.js';
import type { Services } from '../context.js';

/**
 * Acts once for a modal, whatever else the judge would allow: with one approver for two steps, a second approval would count for the next step
 * (SL-14, SL-I6). What was refused has changed nothing and may be submitted again.
 */
export async function onceForView<T>({ database }: Services, viewId: string, act: () => Promise<T>): Promise<T> {
  if (!(await rememberView(database, viewId)))
    throw refusal('request.conflict', 'this form was submitted before: look at the request, and open it again');
  try {
    return await act();
  } catch (error) {
    if (error instanceof GatewayError && httpStatus(error.code) < 500) await forgetView(database, viewId);
    throw error;
  }
}
