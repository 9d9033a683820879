import type { z } from 'zod';
import { created } from '../../requests/schemas.js';
import { ask } from '../ask.js';
import type { McpContext } from '../context.js';
import { wantsReason } from './tool.js';

export interface Wanted {
  database: string;
  environment: string;
  operation: string;
  detail: string;
  reason?: string | undefined;
  idempotency_key?: string | undefined;
  require_approval?: boolean | undefined;
}

/** A request as `POST /api/requests` makes it: never an emergency, never with `allow_ddl` (MC-44). Asks the client's user for a reason that is missing. */
export async function create(context: McpContext, wanted: Wanted): Promise<z.output<typeof created>> {
  try {
    return await ask(context, 'createRequest', { body: { ...wanted } }, created);
  } catch (error) {
    if (!wantsReason(error)) throw error;
    const reason = await context.askReason();
    if (reason === null || reason === false) throw error;
    return ask(context, 'createRequest', { body: { ...wanted, reason }, isReasonElicited: true }, created);
  }
}
