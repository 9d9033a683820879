import type { StoredRequest } from '../domain/request/types.js';
import type { Parameters } from './parameters.js';

/** The one writing statement of a move, whose parts are put together from what the move changes. */
export interface MoveStatement {
  p: Parameters;
  /** The `$n` of the request's id. */
  request: string;
  before: StoredRequest;
  after: StoredRequest;
  now: number;
}
