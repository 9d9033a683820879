import { limitDatabaseWork, outsideCall } from '../../db/call-limit.js';
import type { Services } from '../context.js';
import type { SlackCall } from './call.js';
import { report } from './told.js';

/** Slack gives up after 3 s. SL-14 leaves half a second for the way back, and this limit the time to send. */
const answerMs = 2300;
/** As of any other call (OP-70). */
const databaseWorkMs = 4000;
/** Further clicks are dropped: each may wait 10 s for Slack. */
const maxAfterwards = 200;

export const leftMs = ({ startedAt }: Pick<SlackCall, 'startedAt'>): number =>
  Math.max(1, Math.floor(answerMs - (performance.now() - startedAt)));

/** Answers with the result of `work`, or with `late()` when time is up; `work` then continues, and its outcome is not known yet (SL-14). */
export async function inTime<T>(call: SlackCall, work: () => Promise<T>, late: () => T): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeIsUp = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), leftMs(call));
  });
  const working = ownTime(work);
  try {
    const first = await Promise.race([working.then((value) => ({ value })), timeIsUp]);
    if (first !== 'late') return first.value;
    working.catch((error: unknown) => report(call, error));
    return late();
  } finally {
    clearTimeout(timer);
  }
}

/** Runs work after an early answer; it is lost if the process dies (SL-15). It must not reject. */
export type Afterwards = (services: Pick<Services, 'log'>, work: () => Promise<void>) => void;

export function createAfterwards(): Afterwards {
  let running = 0;
  return ({ log }, work) => {
    if (running >= maxAfterwards) {
      log.warn({ running }, 'a click in Slack is dropped: too many are being worked on');
      return;
    }
    running += 1;
    void ownTime(work).finally(() => {
      running -= 1;
    });
  };
}

/** Without the limit of the call that is being answered. */
export const ownTime = <T>(work: () => Promise<T>): Promise<T> => outsideCall(() => limitDatabaseWork(databaseWorkMs, work));
