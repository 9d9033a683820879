import { isOpen } from '../../format/status.js';
import { answer, api, type Schema } from '../../http/client.js';

type Item = Schema['RequestItem'];

export interface Inbox {
  /** Oldest first: who waits longest comes first. */
  approvals: Item[];
  /** How many wait; more than `approvals` when there are too many to show. */
  total: number;
  own: Item[];
  /** Ended lately, which the caller may want to see. */
  ended: Item[];
}

const pageSize = 100;
const maxShown = 1000;
const ownShown = 100;
const endedShown = 5;

export async function loadInbox(me: string, signal: AbortSignal): Promise<Inbox> {
  const [first, mine] = await Promise.all([page(0, signal), listOwn(me, signal)]);
  const offsets = Array.from(
    { length: Math.ceil(Math.min(first.total, maxShown) / pageSize) - 1 },
    (_, index) => (index + 1) * pageSize,
  );
  const others = await Promise.all(offsets.map((offset) => page(offset, signal)));
  const found = [first, ...others].flatMap(({ requests }) => requests);
  // A request that was made between two pages is on both.
  const approvals = [...new Map(found.map((request) => [request.id, request])).values()].reverse();
  return {
    approvals,
    total: Math.max(first.total, approvals.length),
    own: mine.filter(({ status }) => isOpen(status)),
    ended: mine.filter(({ status }) => !isOpen(status)).slice(0, endedShown),
  };
}

const page = (offset: number, signal: AbortSignal) =>
  answer(api.GET('/api/requests', { params: { query: { pending_for_me: true, limit: pageSize, offset } }, signal }));

async function listOwn(user: string, signal: AbortSignal): Promise<Item[]> {
  const { requests } = await answer(api.GET('/api/requests', { params: { query: { user, limit: ownShown } }, signal }));
  return requests;
}
