import { expect, it } from 'vitest';
import { createKeyLines } from '../../api/requests/key-lines.js';
import { answerWithin } from '../../db/call-limit.js';

it('passes a turn on that comes when its call has been answered (RQ-32, HT-131)', async () => {
  const lines = createKeyLines();
  const { signal } = new AbortController();
  const nobody = async () => null;
  const made = (name: string) => ({ look: nobody, make: async () => name });
  let open = (_: string) => {};
  const opened = new Promise<string>((resolve) => {
    open = resolve;
  });
  const first = lines.take('key', signal, { look: nobody, make: () => opened });
  const late = answerWithin(30, () => lines.take('key', signal, made('late')));
  const third = lines.take('key', signal, made('third'));
  await expect(late).rejects.toMatchObject({ code: 'service.unavailable' });
  open('first');
  expect([await first, await third]).toEqual([{ made: 'first' }, { made: 'third' }]);
  expect(await lines.take('key', signal, made('fourth'))).toEqual({ made: 'fourth' });
});
