import type { StoredRequest } from '../domain/request/types.js';
import type { Parameters } from './parameters.js';
import { durably } from './transaction-name.js';

/**
 * The one writing statement of a move, whose parts are put together from what the move changes. Its first part, `allowed`, has the request's id, or no
 * row when the move must not be written; every other part depends on it.
 */
export interface MoveStatement {
  p: Parameters;
  /** SQL of the request's id; null when the move must not be written. */
  request: string;
  before: StoredRequest;
  after: StoredRequest;
  now: number;
  /** The call is refused; the move only stores what the refusal noticed. */
  refused: boolean;
}

/** The part `allowed` of a request that its transaction has locked or makes. */
export const allowedAlways = (p: Parameters, id: string): string => `allowed as (select ${p.add(id)}::uuid as id)`;

/** A statement of these parts, which commits durably and answers in `done` how many requests it wrote, 1 or 0. */
export const writing = (parts: readonly string[]): string =>
  `with ${parts.join(', ')} select (select count(*)::int from allowed) as done, ${durably}`;
