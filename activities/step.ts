import { limitDatabaseWork } from '../db/call-limit.js';
import type { Database } from '../db/client.js';
import { type Moved, move } from '../db/move.js';
import { findState } from '../db/request-state.js';
import { GatewayError } from '../domain/errors.js';
import { judge } from '../domain/request/judge.js';
import { CLOCKS, type ClockKind, viewOf } from '../domain/request/view.js';
import { isUuid } from '../lib/uuid.js';
import type { KnownView, StepActivities } from '../workflows/messages.js';
import { failure } from './failure.js';

/** Less than the 2 s that the workflow gives an attempt, so that no attempt still runs when the next one starts. */
const databaseMs = 1800;
const notStored: KnownView = { version: 0, status: 'not_stored', turn: 'nobody', clock: null, final: true };

export interface StepOptions {
  database: Database;
  /** Called with each move after its commit. */
  onMoved?: (moved: Moved) => void;
  /** Called with the reason of a failed step. Temporal does not learn it. */
  onFailure?: (error: unknown) => void;
  /** Called with each step that was made. */
  onSuccess?: () => void;
}

export function createStep({ database, onMoved, onFailure, onSuccess }: StepOptions): StepActivities {
  return {
    async step(id, clock) {
      if (!isUuid(id)) return notStored;
      try {
        const view = await limitDatabaseWork(databaseMs, () =>
          isClock(clock) ? moveIfStored(database, id, clock, onMoved) : read(database, id),
        );
        onSuccess?.();
        return view;
      } catch (error) {
        onFailure?.(error);
        throw failure('the step failed; the log of the worker says why', 'step');
      }
    },
  };
}

/** A view that an operator signals by hand can name a clock that there is not: it makes no move. */
const isClock = (clock: ClockKind | null): clock is ClockKind => (CLOCKS as readonly (string | null)[]).includes(clock);

async function read(database: Database, id: string): Promise<KnownView> {
  const found = await findState(database, id);
  return found === undefined ? notStored : viewOf(found.request, found.now);
}

async function moveIfStored(
  database: Database,
  id: string,
  clock: ClockKind,
  onMoved: ((moved: Moved) => void) | undefined,
): Promise<KnownView> {
  try {
    const moved = await moveByClock(database, id, clock);
    if (moved.changed) onMoved?.(moved);
    return moved.view;
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'request.not_found') return notStored;
    throw error;
  }
}

/** Makes the move of a clock that was reached. The end of a lease may end a migration. */
export function moveByClock(database: Database, id: string, clock: ClockKind): Promise<Moved> {
  const lease = clock === 'lease';
  return database.transaction((tx) =>
    move(tx, id, (request, now) => judge(request, { kind: 'clock', clock }, now), { lockExecution: lease, pair: lease }),
  );
}
