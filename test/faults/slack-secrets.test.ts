import { afterAll, describe, expect, it } from 'vitest';
import { shopToml } from '../support/api.js';
import { eventually } from '../support/processes.js';
import { share } from '../support/share.js';
import { temporalAddress } from '../support/temporal.js';
import { expectStatus } from './calls.js';
import { type SlackSystem, startSlackSystem } from './slack-system.js';

const modes = share(['none'], ['none', 'literals', 'full']);

/** Each stands in one place only, so that what is found tells how it got out. */
const marks = {
  literal: 'mark-of-a-literal',
  identifier: 'mark_of_an_identifier',
  comment: 'mark-of-a-comment',
  // Put together by the database: it is in the result, not in the text.
  result: 'mark-of-a-result',
  written: 'mark-of-a-write',
};
const error = 'mark-of-an-error';

let slack: SlackSystem | undefined;
afterAll(() => slack?.close());

/** Runs what holds the marks, to each of its ends. */
async function play({ system: { tokens }, api }: SlackSystem): Promise<string[]> {
  const texts = [
    `select '${marks.literal}' as ${marks.identifier}, 'mark-of' || '-a-result' as said -- ${marks.comment}`,
    `insert into entries (word) values ('${marks.written}') returning word`,
    `select '${error}'::int`,
    `select '${marks.literal}' /* ${marks.comment} */`,
  ];
  const ids: string[] = [];
  for (const detail of texts) {
    const made = await api(tokens.alice, 'POST', '/api/requests', {
      database: 'shop',
      environment: 'production',
      detail,
      reason: 'marks',
    });
    ids.push(String(expectStatus(made, 201).id));
  }
  for (const [n, id] of ids.entries()) {
    const act = async (token: string, what: string, body = {}) =>
      expectStatus(await api(token, 'POST', `/api/requests/${id}/${what}`, body), 200);
    if (n === 3) {
      await act(tokens.bob, 'reject', { comment: 'no' });
      continue;
    }
    await act(tokens.bob, 'approve');
    await act(tokens.alice, 'resume');
  }
  return ids;
}

describe.each(modes)('with redaction %s', (redaction) => {
  it('no channel message has SQL, a result or a token (SL-55, SL-I5, AU-53)', async () => {
    await slack?.close();
    slack = undefined;
    slack = await startSlackSystem({
      temporalAddress: await temporalAddress(),
      toml: `${shopToml}[audit]\nredaction = "${redaction}"\n`,
    });
    const { fake, system } = slack;
    const ids = await play(slack);
    await eventually(async () => {
      const { rows } =
        await system.database.query(`select status from requests where status not in ('executed', 'failed', 'rejected')
        union all select 'card' from slack_cards where shown < wanted union all select 'line' from slack_lines`);
      return rows.length === 0 && fake.cards().length === ids.length;
    }, 120_000);
    // What was ever sent, not only what is shown at the end.
    const sent = JSON.stringify(fake.calls.map(({ args }) => args));
    for (const mark of Object.values(marks)) expect({ mark, isSent: sent.includes(mark) }).toEqual({ mark, isSent: false });
    expect(sent.includes(error)).toBe(redaction === 'none');
    for (const token of Object.values(system.tokens)) expect(sent.includes(token)).toBe(false);
    expect(sent).not.toMatch(/svc_[0-9a-f]{8}/);
    expect(sent).not.toContain(fake.botToken);
    const results = await system.database.query('select 1 from results');
    expect(results.rows.length).toBeGreaterThan(0);
  }, 300_000);
});
