import type { Config } from '../config/types.js';
import type { Database } from '../db/client.js';
import { deleteOldCalls, endCall, listDead } from '../db/mcp-calls.js';
import { deleteExpiredSessions } from '../db/mcp-sessions.js';
import { interruptedText } from '../domain/mcp-texts.js';
import type { Job } from './job.js';
import { inRounds } from './rounds.js';

const batch = 500;

/** Answers calls whose server died (MC-24), and forgets streams that ended long ago and sessions that expired (operations.md section 9). */
export const createMcpCleaner = ({ database, config }: { database: Database; config: () => Config }): Job =>
  inRounds(database, {
    name: 'mcp cleaner',
    everyMs: 60_000,
    part: async () => {
      const { sessionTtlSecs, replayBufferSize: buffer } = config().mcp;
      const dead = await listDead(database, batch);
      for (const { id, rpcId } of dead) await endCall(database, id, { response: interruptedText(rpcId), buffer, who: 'dead' });
      const calls = await deleteOldCalls(database, batch);
      const sessions = await deleteExpiredSessions(database, sessionTtlSecs, batch);
      return [dead.length, calls, sessions].includes(batch);
    },
  });
