import { expect, it } from 'vitest';
import { createReadyPolls, type ReadyPoll } from '../../api/agent/ready-polls.js';
import type { StoredRequest } from '../../domain/request/types.js';

const request = { database: 'shop' } as StoredRequest;
const judge = async () => null;
const pollOf = (database: string): ReadyPoll => ({ couldClaim: (asked) => asked.database === database, judge });
const soon = <T>(promise: Promise<T>) => Promise.race([promise, new Promise((resolve) => setTimeout(resolve, 20, 'waits'))]);

it('the poll that has waited longest of those that could claim is held, and by one creation at a time', async () => {
  const polls = createReadyPolls();
  const woken: string[] = [];
  const join = (database: string, name: string) => polls.join(pollOf(database), () => woken.push(name));
  const [, first, second] = [join('ledger', 'other'), join('shop', 'first'), join('shop', 'second')];
  polls.hold(request)?.end('1');
  polls.hold(request)?.end('2');
  expect([polls.hold(request), woken, await first(), await second()]).toEqual([null, ['first', 'second'], '1', '2']);
});

it('a poll that leaves is held no more; one that is held learns first what became of its claim', async () => {
  const polls = createReadyPolls();
  expect(await polls.join(pollOf('shop'), () => {})()).toBeNull();
  expect(polls.hold(request)).toBeNull();
  const leave = polls.join(pollOf('shop'), () => {});
  const held = polls.hold(request);
  expect([await soon(leave()), polls.size]).toEqual(['waits', 0]);
  held?.end(null);
  expect(await leave()).toBeNull();
});

it('a poll fails with the creation that does not know whether its claim was made, even if it has ended itself', async () => {
  const polls = createReadyPolls();
  const woken: string[] = [];
  const leave = polls.join(pollOf('shop'), () => woken.push('woken'));
  polls.hold(request)?.fail(new Error('unknown'));
  await new Promise((resolve) => setTimeout(resolve));
  expect(woken).toEqual(['woken']);
  await expect(leave()).rejects.toThrow('unknown');
});
