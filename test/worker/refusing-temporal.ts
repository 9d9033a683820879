import type { TemporalLink } from '../../worker/temporal-link.js';

/** A Temporal that refuses all calls and counts them; `isBack` once after an outage. */
export const refusingTemporal = (isBack = false): TemporalLink & { calls: number } => ({
  calls: 0,
  use: () => {},
  find: async () => ({ client: undefined as never, searchable: false }),
  isUsable: () => true,
  takeReturn() {
    const was = isBack;
    isBack = false;
    return was;
  },
  call() {
    this.calls += 1;
    return Promise.reject(new Error('refused'));
  },
});
