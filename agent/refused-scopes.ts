import type { Log } from './log.js';
import type { PollAnswer } from './protocol.js';

/**
 * Logs the databases that the gateway does not let this token serve, once for each set, and when all are served again (HD-11).
 */
export function createRefusalLog(log: Log): (refused: PollAnswer['refused_scopes']) => void {
  let told = '';
  return (refused) => {
    const databases = refused
      .map(({ database, environment }) => `${database}/${environment}`)
      .sort()
      .join(', ');
    if (databases === told) return;
    told = databases;
    if (databases === '') log.info('the agent token may serve all databases again');
    else log.error('the agent token may not serve these databases', { databases, hint: 'make a token with --scope for them' });
  };
}
