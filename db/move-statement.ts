import type { StoredRequest } from '../domain/request/types.js';
import type { Parameters } from './parameters.js';

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
  /** The call is refused; the move only keeps what that found out. */
  refused: boolean;
}
