import type { Transaction } from './client.js';

type SubjectType = 'user' | 'agent';

const key = (type: SubjectType, id: string) => `hashtextextended('standing of ${type} ' || ${id}, 0)`;

/**
 * SQL of a lock on a subject, by SQL of its id, which those who rely on its standing share until their transactions end. They take it before the rows that tell
 * the standing: a row that some share is never free for who must change it, as long as others keep coming; this lock makes them wait their turn.
 */
export const sharedLock = (type: SubjectType, id: string) => `select pg_advisory_xact_lock_shared(${key(type, id)})`;

/** Waits for those who rely on the subject's standing, and holds up all who come after, until the transaction ends. */
export async function lockSubject(tx: Transaction, type: SubjectType, id: string): Promise<void> {
  await tx.query(`select pg_advisory_xact_lock(${key(type, '$1::text')})`, [id]);
}
