import { sleep } from '../../lib/sleep.js';
import { askUntilKnown } from './ask.js';
import type { Target } from './engine.js';
import type { Session } from './session.js';

/** Interrupts a session's statement until `ended` aborts: immediately, then every second; ends the session after ten (AP-42). */
export async function cancelStatement<S extends Session>(session: S, target: Target<S>, ended: AbortSignal): Promise<void> {
  const { pool, timings, engine } = target;
  session.distrust();
  engine.interrupt?.(session, timings);
  const begun = performance.now();
  let admin: S | null = null;
  for (let first = engine.interrupt === undefined; !ended.aborted; first = false) {
    if (!first) await sleep(timings.cancelRepeatMs, ended);
    if (ended.aborted) break;
    try {
      admin ??= await pool.open();
      if (ended.aborted) break;
      await engine.kill(admin, session, performance.now() - begun >= timings.cancelTerminateMs);
    } catch {
      if (admin?.lost !== false) admin = null;
    }
  }
  await admin?.release();
}

/** Asks on new connections whether the server has ended the session, until it has or the time is over. */
export async function waitUntilGone<S extends Session>(session: S, target: Target<S>, untilMs: number): Promise<boolean> {
  const { engine } = target;
  const gone = await askUntilKnown(target, untilMs, async (admin) => {
    if (await engine.isGone(admin, session)) return true;
    await engine.kill(admin, session, true);
    return null;
  });
  return gone === true;
}
