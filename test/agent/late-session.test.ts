import { expect, it } from 'vitest';
import { ConnectFailure } from '../../agent/drivers/driver.js';
import type { Session, SessionPool } from '../../agent/drivers/session.js';
import { connectDatabase } from '../../agent/drivers/upkeep.js';
import { sleep } from '../../lib/sleep.js';

/** A server that lets a session in after `ms` and then says nothing more. */
function silentAfter(ms: number) {
  const ended: Session[] = [];
  const open = async () => {
    await sleep(ms);
    let end: (error: Error) => void = () => {};
    const over = new Promise<never>((_, reject) => {
      end = reject;
    });
    const session: Session = {
      lost: false,
      searchPath: null,
      query: () => over,
      distrust: () => {},
      destroy() {
        ended.push(session);
        end(new Error('ended'));
      },
      release: async () => {},
    };
    over.catch(() => {});
    return session;
  };
  const pool: SessionPool<Session> = { acquire: open, open, close: async () => {} };
  return { pool, ended };
}

it('AP-15: a session that opens after the time to connect is ended, so that the next try follows', async () => {
  const { pool, ended } = silentAfter(100);
  const kept = { reads: pool, writes: pool, marker: undefined as never, config: undefined as never, silentMs: 20 };
  const ask = async (writer: Session) => {
    await writer.query('select 1');
    return { readProblem: null, nameProblem: null };
  };
  const connecting = connectDatabase(kept, true, () => new ConnectFailure('connection', 'no answer'), ask);
  await expect(connecting).rejects.toThrow('no answer');
  expect(ended).toHaveLength(2);
});
