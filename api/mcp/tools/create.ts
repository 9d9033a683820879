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
  const post = (body: Record<string, unknown>) => ask(context, 'createRequest', { body }, created);
  try {
    return await post({ ...wanted });
  } catch (error) {
    if (!wantsReason(error)) throw error;
    const reason = await context.askReason();
    if (reason === null || reason === false) throw error;
    return post({ ...wanted, reason });
  }
}
