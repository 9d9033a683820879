import { z } from 'zod';
import { iso } from '../../db/row-types.js';
import { route } from '../http/route.js';
import { listAccess, listQuery, readPage } from './list.js';
import { basics } from './schemas.js';

const { id, requester, database, environment, operation, status, created_at, updated_at } = basics;

export const heads = z.object({
  requests: z.array(z.object({ id, operation, database, environment, requester, status, created_at, updated_at })),
});

/**
 * The list of requests without their texts. It has no address of its own: the tools of MCP ask it. They read an answer whole, and a hundred long
 * texts, for a few callers at a time, would take the memory of the process.
 */
export const readRequestHeads = route({
  operationId: 'readRequestHeads',
  method: 'get',
  path: '/',
  summary: 'Read a page of requests without their texts',
  tag: 'requests',
  access: listAccess,
  query: listQuery,
  status: 200,
  response: heads,
  errors: [],
  handle: async (call, services) => {
    const { rows } = await readPage(call, services);
    return { requests: rows.map((row) => ({ ...row, created_at: iso(row.created_at), updated_at: iso(row.updated_at) })) };
  },
});
