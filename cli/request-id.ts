import type { Context } from './context.js';
import { failure } from './failure.js';

/** The full id of a request given in full or as a prefix of at least 4 characters, for a command that only reads (CL-27). */
export const resolveRequestId = (context: Context, given: string): Promise<string> => resolveId(context, given, 4);

/** The same for a command that acts on the request. A short prefix that fits only one today may fit another tomorrow. */
export const resolveActedId = (context: Context, given: string): Promise<string> => resolveId(context, given, 8);

async function resolveId(context: Context, given: string, minPrefix: number): Promise<string> {
  if (given.length === 36 && [8, 13, 18, 23].every((at) => given[at] === '-')) return given;
  if (given.length < minPrefix) throw failure('usage', `${context.what}: a request id needs at least ${minPrefix} characters`);
  const matches = await findByPrefix(context, given.toLowerCase());
  const [only] = matches;
  if (only === undefined)
    throw failure('not_found', `${context.what}: no request begins with ${given}`, { hint: 'svc request list' });
  if (matches.length === 1) return only;
  throw failure('ambiguous', `${context.what}: ${matches.length} requests begin with ${given}`, {
    data: JSON.stringify({ matches }),
    hint: matches.slice(0, 10).join('\n'),
  });
}

const pageSize = 100;
const maxPages = 10;

async function findByPrefix(context: Context, prefix: string): Promise<string[]> {
  const found = new Set<string>();
  for (let page = 0; page < maxPages; page += 1) {
    const reply = await context.client().call({
      method: 'GET',
      path: ['api', 'requests'],
      query: { limit: pageSize, offset: page * pageSize },
    });
    const requests = reply.json().get('requests')?.items() ?? [];
    for (const request of requests) {
      const id = request.get('id')?.string();
      if (id?.startsWith(prefix)) found.add(id);
    }
    if (requests.length < pageSize) break;
  }
  return [...found];
}

/** On a terminal, eight characters if those tell the requests of a page apart; elsewhere full ids, for scripts. */
export function shortIds({ terminal }: Context, ids: readonly string[]): (id: string) => string {
  const isClear = new Set(ids.map((id) => id.slice(0, 8))).size === new Set(ids).size;
  return terminal.stdout.isTTY === true && isClear ? (id) => id.slice(0, 8) : (id) => id;
}
