import type { TestApi } from '../support/api.js';

/**
 * Starts a long poll on a process and resolves once it waits. It subscribes before its first look, so nothing that happens afterwards is missed;
 * the round trip at the end gives that first look time to be over, so that the wake-up and not the look is what ends the wait.
 */
export async function untilWaiting<T>(where: TestApi, start: () => Promise<T>): Promise<{ answer: Promise<T> }> {
  const { notifications } = where.services;
  const subscribe = notifications.subscribe;
  const subscribed = new Promise<void>((resolve) => {
    notifications.subscribe = (name, wake) => {
      notifications.subscribe = subscribe;
      resolve();
      return subscribe(name, wake);
    };
  });
  const answer = start();
  await subscribed;
  await where.services.database.query('select pg_sleep(0.05)');
  return { answer };
}
