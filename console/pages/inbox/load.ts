import { isOpen, openStatuses } from '../../format/status.js';
import { answer, api, type Schema } from '../../http/client.js';

type Item = Schema['RequestItem'];

export interface Inbox {
  /** Oldest first: who waits longest comes first. */
  approvals: Item[];
  /** How many wait; more than `approvals` while not all are shown. */
  total: number;
  own: Item[];
  /** Ended lately, which the caller may want to see. */
  ended: Item[];
}

/** The most that a page of the API has, and as many rows as a browser shows at once. */
export const pageSize = 100;
const endedShown = 5;

/** The `wanted` oldest of what waits, and the caller's own requests. */
export async function loadInbox(me: string, wanted: number, signal: AbortSignal): Promise<Inbox> {
  const [newest, { own, ended }] = await Promise.all([page(0, signal), listOwn(me, signal)]);
  const found = newest.total <= pageSize ? newest.requests : await oldest(newest.total, wanted, signal);
  // A request that was made between two pages is on both.
  const approvals = [...new Map(found.map((request) => [request.id, request])).values()].reverse();
  return {
    approvals,
    total: Math.max(newest.total, approvals.length),
    own,
    ended,
  };
}

/** The API lists the newest first, so the oldest are on its last pages. */
async function oldest(total: number, wanted: number, signal: AbortSignal): Promise<Item[]> {
  const from = Math.max(0, total - wanted);
  const offsets = Array.from({ length: Math.ceil((total - from) / pageSize) }, (_, index) => from + index * pageSize);
  const pages = await Promise.all(offsets.map((offset) => page(offset, signal)));
  return pages.flatMap(({ requests }) => requests);
}

const page = (offset: number, signal: AbortSignal) =>
  answer(api.GET('/api/requests', { params: { query: { pending_for_me: true, limit: pageSize, offset } }, signal }));

/** If not all requests fit on the first page, ended ones may crowd out open ones, so the open ones are queried by status. */
async function listOwn(user: string, signal: AbortSignal): Promise<Pick<Inbox, 'own' | 'ended'>> {
  const ask = (query: { status?: Item['status'] }) =>
    answer(api.GET('/api/requests', { params: { query: { user, limit: pageSize, ...query } }, signal }));
  const { requests, total } = await ask({});
  const ended = requests.filter(({ status }) => !isOpen(status)).slice(0, endedShown);
  if (total <= requests.length) return { own: requests.filter(({ status }) => isOpen(status)), ended };
  const pages = await Promise.all(openStatuses.map((status) => ask({ status })));
  const own = pages
    .flatMap((page) => page.requests)
    .sort((one, other) => Date.parse(other.created_at) - Date.parse(one.created_at));
  return { own, ended };
}
