import { createSession, type Session } from './session.js';

const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Runs `start`, then keeps its parts until a signal, the death of a part, or the end of `start` with `endsWithStart`. The first
 * signal stops the parts in order, the second kills them. Returns the exit code: 0 after a clean stop, else 1.
 */
export async function runSession(start: (session: Session) => Promise<void>, endsWithStart = false): Promise<number> {
  const session = createSession();
  const ended = new Promise<void>((resolve) => session.signal.addEventListener('abort', () => resolve(), { once: true }));
  let signals = 0;
  const onSignal = () => {
    signals += 1;
    if (signals === 1) say('\nstopping; Ctrl-C again stops at once');
    session.end();
    if (signals > 1) session.kill();
  };
  for (const signal of stopSignals) process.on(signal, onSignal);
  try {
    await start(session);
    if (!endsWithStart) await ended;
  } catch (error) {
    if (!session.signal.aborted) session.end((error as Error).message);
  } finally {
    await session.stop();
    for (const signal of stopSignals) process.off(signal, onSignal);
  }
  const failure = session.failure();
  if (failure !== null) say(`error: ${failure}`);
  return failure === null && signals < 2 ? 0 : 1;
}

function say(text: string): void {
  process.stderr.write(`${text}\n`);
}
