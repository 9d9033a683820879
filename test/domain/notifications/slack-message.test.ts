import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type NotificationEvent, notificationEvents } from '../../../domain/notifications/events.js';
import { bareNotice, type Notice } from '../../../domain/notifications/notice.js';
import { slackMessage as messageWith, slackBody } from '../../../domain/notifications/slack-message.js';
import { codeIn, expectFitsSlack, markupOf } from '../../support/slack.js';

const id = '8c1f0a34-1111-4222-8333-944445555666';
type Facts = NonNullable<Notice['request']>;
const facts: Facts = {
  id,
  database: 'ledger',
  environment: 'production',
  operation: 'execute_dml',
  requester: 'mira',
  status: 'pending',
  step: { number: 1, total: 2 },
  approvers: ['otto'],
  next: ['group:dbas'],
};
const notice = (over: Partial<Notice> = {}, request: Partial<Facts> = {}): Notice => ({
  event: 'step.approved',
  actor: 'otto',
  request: { ...facts, ...request },
  detail: null,
  matchedSelector: 'group:payments-leads',
  reason: null,
  error: null,
  ...over,
});
const slackMessage = (one: Notice) => messageWith(one, null);
const events = Object.keys(notificationEvents) as NotificationEvent[];
const markup = (text: string) => ({ type: 'mrkdwn', text, verbatim: true });
const contexts = (one: Notice) => slackMessage(one).blocks.flatMap((block) => (block.type === 'context' ? block.elements : []));
const line = (one: Notice) => contexts(one)[0]?.text;

describe('a Slack message', () => {
  it('links to the page of the request where the gateway has a public URL (NT-21)', () => {
    const requestId = (url: string, one = notice()) =>
      markupOf(messageWith(one, url)).find((text) => text.startsWith('*Request ID'));
    expect(requestId('https://gateway.example.com')).toBe(
      `*Request ID:*\n<https://gateway.example.com/console/requests/${id}|${id}>`,
    );
    expect(requestId('https://example.com/gate/', notice())).toContain(`<https://example.com/gate/console/requests/${id}|`);
    expect(requestId('https://example.com', bareNotice('webhook.test', 'admin'))).toBe('*Request ID:*\n—');
  });

  it('keeps what a public URL may hold from ending the link, and leaves out one that is too long', () => {
    const message = messageWith(notice(), 'https://example.com/a|b&c?d=<e>');
    expect(markupOf(message).join()).toContain(`<https://example.com/a%7Cb%26c/console/requests/${id}|${id}>`);
    const long = messageWith(notice(), `https://example.com/${'a'.repeat(1000)}`);
    expect(markupOf(long)).toContain(`*Request ID:*\n${id}`);
    expectFitsSlack(messageWith(notice(), `https://example.com/${'&'.repeat(300)}`));
  });

  it('has header, fields, code, context and the next command, in this order (NT-21)', () => {
    const created = notice(
      { event: 'request.created', actor: 'mira', detail: 'update t set a = ?', reason: 'fix the sums' },
      { approvers: [], next: ['group:payments-leads'] },
    );
    expect(slackMessage(created)).toEqual({
      text: `📋 New Approval Request — ledger/production — ${id}`,
      blocks: [
        { type: 'header', text: { type: 'plain_text', text: '📋 New Approval Request', emoji: true } },
        {
          type: 'section',
          fields: [
            markup('*Requester:*\nmira'),
            markup('*Database:*\nledger / production'),
            markup('*Operation:*\nexecute_dml'),
            markup(`*Request ID:*\n${id}`),
          ],
        },
        { type: 'section', text: markup('```update t set a = ?```') },
        { type: 'context', elements: [markup('Step 1/2 • Reason: `fix the sums` • Next: `group:payments-leads`')] },
        { type: 'context', elements: [markup(`Approve: \`svc request approve ${id}\``)] },
      ],
    });
    expect(slackBody(created, null)).toBe(JSON.stringify(slackMessage(created)));
  });

  it('names the actor unless it is the requester, the approvers, and those who come next (NT-21)', () => {
    expect(line(notice())).toBe('Actor: otto • Step 1/2 • Next: `group:dbas`');
    expect(markupOf(slackMessage(notice()))[4]).toBe('*Approvers:*\notto');
    expect(line(notice({ actor: 'mira' }))).toBe('Step 1/2 • Next: `group:dbas`');
    const many = Array.from({ length: 12 }, (_, index) => `u${index}`);
    const crowd = slackMessage(notice({}, { approvers: many, next: many.map((user) => `user:${user}`) }));
    expect(markupOf(crowd)[4]).toBe('*Approvers:*\nu0, u1, u2, u3, u4 and 7 more');
    expect(markupOf(crowd)[5]).toBe('Actor: otto • Step 1/2 • Next: `user:u0`, `user:u1`, `user:u2` and 9 more');
    const done = notice({ event: 'execution.completed', actor: 'mira' }, { status: 'executed', step: null, next: [] });
    expect(slackMessage(done).blocks).toHaveLength(2);
  });

  it('has the titles of the rule (NT-21)', () => {
    const titles = Object.fromEntries(events.map((event) => [event, slackMessage(notice({ event })).text.split(' — ')[0]]));
    expect(titles).toMatchObject({
      'request.created': '📋 New Approval Request',
      'request.break_glass': '🚨 Break-Glass Request',
      'request.auto_approved': '⚡ Auto-Approved',
      'step.approved': '☑️ Step Approved',
      'request.approved': '✅ Request Approved',
      'request.rejected': '❌ Rejected',
      'execution.completed': '🎉 Completed',
      'execution.failed': '⚠️ Execution Failed',
      'execution.lost': '💀 Execution Lost',
      'request.expired': '⏰ Expired',
      'request.cancelled': '🚫 Cancelled',
      'request.dispatch_timeout': '🔄 Dispatch Timeout',
      license_grace_warning: '⚠️ License Grace Warning',
      license_downgraded: '🔒 License Downgraded',
    });
    expect(Object.values(titles).filter((title) => title === '🔔 Notification')).toHaveLength(events.length - 14);
    for (const event of events)
      expect(line(notice({ event }))!.startsWith(`Event: ${event}`)).toBe(titles[event] === '🔔 Notification');
  });

  it('has a dash for what an event without a request lacks (NT-21)', () => {
    const message = slackMessage(bareNotice('user.created', 'root'));
    expect(message.text).toBe('🔔 Notification — —/— — —');
    expect(markupOf(message)).toEqual([
      '*Requester:*\n—',
      '*Database:*\n— / —',
      '*Operation:*\n—',
      '*Request ID:*\n—',
      'Event: user.created • Actor: root',
    ]);
  });

  it('names the next command only while the request waits for it (NT-21)', () => {
    const hint = (event: NotificationEvent, status: Facts['status']) => contexts(notice({ event }, { status }))[1]?.text;
    expect(hint('request.created', 'pending')).toBe(`Approve: \`svc request approve ${id}\``);
    for (const event of ['request.approved', 'request.dispatch_timeout'] as const) {
      expect(hint(event, 'approved')).toBe(`Run: \`svc request resume ${id}\``);
      expect(hint(event, 'expired')).toBeUndefined();
    }
    expect(hint('step.approved', 'pending')).toBeUndefined();
    expect(hint('execution.failed', 'failed')).toBeUndefined();
  });

  it('shows of an error its class, or the first line where it has one (AU-53)', () => {
    const failed = (error: Notice['error']) => line(notice({ event: 'execution.failed', error }, { step: null, next: [] }));
    expect(failed({ class: '23505', line: null })).toBe('Actor: otto • Error: `23505`');
    expect(failed({ class: '23505', line: '23505: duplicate <key>' })).toBe(
      'Actor: otto • Error: `23505: duplicate &lt;key&gt;`',
    );
    expect(failed({ class: '', line: null })).toBe('Actor: otto');
  });

  it('cuts a detail after 200 characters and a reason after 100, never in the middle of one, and says so (NT-21)', () => {
    const blocks = slackMessage(notice({ detail: '😀'.repeat(201), reason: 'é'.repeat(101) })).blocks;
    const text = blocks.flatMap((block) => ('text' in block && block.type === 'section' ? [block.text.text] : []));
    expect(text).toEqual([`\`\`\`${'😀'.repeat(200)}\`\`\`…`]);
    expect(line(notice({ reason: 'é'.repeat(101) }))).toContain(`Reason: \`${'é'.repeat(100)}\`…`);
    expect(line(notice({ reason: '&'.repeat(100) }))).toContain(`Reason: \`${'&amp;'.repeat(100)}\` •`);
    expect(codeIn(markupOf(slackMessage(notice({ detail: '<'.repeat(300) })))[5]!)).toEqual({
      code: ['<'.repeat(200)],
      around: '□…',
    });
  });

  it('has no code block for a blank detail (NT-21)', () => {
    for (const detail of ['', ' \n\t\r\u2028\u0085 '])
      expect(slackMessage(notice({ detail, reason: detail })).blocks).toHaveLength(3);
  });

  it('does not let empty lines push the SQL out of sight', () => {
    const detail = `select 1;${'\n \r\n'.repeat(2000)}\tdrop table t`;
    expect(markupOf(slackMessage(notice({ detail })))[5]).toBe('```select 1;\n  drop table t```');
  });

  it('shows by number what would be hidden in the SQL or end its lines elsewhere (HD-61, NT-21)', () => {
    const shown = (detail: string) => markupOf(slackMessage(notice({ detail })))[5];
    expect(shown("delete from t where a <> 'paid\u200d'")).toBe("```delete from t where a &lt;&gt; 'paid\\u{200d}'```");
    expect(shown('delete from t -- \u2028where id = 1')).toBe('```delete from t -- \\u{2028}where id = 1```');
    expect(shown('delete from t -- \u0085where id = 1')).toBe('```delete from t -- \\u0085where id = 1```');
    expect(shown('delete from t -- \rwhere id = 1')).toBe('```delete from t -- \\rwhere id = 1```');
  });
});

describe('names of 100 KB in a Slack message', () => {
  it('are cut to its limits (NT-21)', () => {
    for (const sign of ['x', '&', '😀', '`']) {
      const long = sign.repeat(100_000);
      const all = { id: long, database: long, environment: long, operation: long, requester: long };
      const lists = { approvers: Array(30).fill(long), next: Array(30).fill(long) };
      const error = { class: long, line: long };
      expectFitsSlack(slackMessage(notice({ actor: `${long}y`, detail: long, reason: long, error }, { ...all, ...lists })));
    }
  });
});

describe('hostile values in a Slack message', () => {
  const nasty = [
    '`',
    '```',
    "'",
    '<!channel>',
    '<@U123|boss>',
    '<https://evil.example|approve>',
    'https://evil.example',
    '&lt;!here&gt;',
    '&',
    '*bold*',
    '_x_',
    '~x~',
    ':white_check_mark:',
    '@here',
    '#general',
    ' • Actor: ceo',
    '\n*Approvers:*\nceo',
    '\r\n> quote',
    '\u2028',
    '\u0085',
    '\u202e',
    '\u2066',
    '\u200b',
    '\ufeff',
    '\u{e0041}',
    '\ud83d',
    '\ude00',
    '😀',
    '👨‍👩‍👧',
    ...Array.from({ length: 33 }, (_, code) => String.fromCharCode(code)),
    '\u007f',
    '\u009b',
    'x'.repeat(100),
  ];
  const free = fc
    .tuple(
      fc.array(fc.oneof(fc.constantFrom(...nasty), fc.string({ unit: 'binary' })), { maxLength: 12 }),
      fc.constantFrom(...Array(30).fill(1), 500),
    )
    .map(([parts, times]) => parts.join('').repeat(times));
  const maybe = fc.option(free);
  const request = fc.option(
    fc.record({
      id: free,
      database: free,
      environment: free,
      operation: free,
      requester: free,
      status: fc.constantFrom('pending' as const, 'approved' as const, 'failed' as const),
      step: fc.option(fc.record({ number: fc.nat(9), total: fc.nat(9) })),
      approvers: fc.array(free, { maxLength: 12 }),
      next: fc.array(free, { maxLength: 12 }),
    }),
  );
  const hostile: fc.Arbitrary<Notice> = fc.record({
    event: fc.constantFrom(...events),
    actor: free,
    request,
    detail: maybe,
    matchedSelector: maybe,
    reason: maybe,
    error: fc.option(fc.record({ class: free, line: maybe })),
  });

  it('keep to the limits and the types of Slack (NT-21)', () => {
    fc.assert(
      fc.property(hostile, (one) => {
        expectFitsSlack(slackMessage(one));
        expect(JSON.parse(slackBody(one, null))).toEqual(slackMessage(one));
      }),
      { numRuns: 150 },
    );
  });

  it('add no markup, no line and no unseen character (NT-21)', () => {
    fc.assert(
      fc.property(hostile, (one) => {
        const { text } = slackMessage(one);
        for (const all of [text, ...markupOf(slackMessage(one))]) {
          expect(all.replace(/&(amp|lt|gt);/g, '')).not.toMatch(/[<>&]/);
          expect(all).not.toMatch(/(?![\n\t\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u);
          expect(codeIn(all).around).not.toMatch(/`/);
        }
        expect(text).not.toMatch(/[\n\t]/);
      }),
      { numRuns: 150 },
    );
  });

  it('stay inside the code that they were put in: what stands around it is ours (NT-21)', () => {
    fc.assert(
      fc.property(free, free, free, (detail, reason, selector) => {
        const created = notice({ event: 'request.created', actor: 'mira', detail, reason }, { approvers: [], next: [selector] });
        const [code, said, command] = markupOf(slackMessage({ ...created, detail: `x${detail}`, reason: `x${reason}` }))
          .slice(4)
          .map((text) => codeIn(text).around.replaceAll('…', ''));
        expect([code, said, command]).toEqual(['□', 'Step 1/2 • Reason: □ • Next: □', 'Approve: □']);
      }),
      { numRuns: 150 },
    );
  });

  it('are shown as they are otherwise (NT-21)', () => {
    const reason = 'if a < b && c > d use *this* _one_ :fire: @here https://x.example &lt;';
    expect(codeIn(line(notice({ reason }))!).code[0]).toBe(reason);
    expect(codeIn(line(notice({ reason: "it's\n`quoted`\tand\u0000 \u202eturned\u202c" }))!).code[0]).toBe(
      "it's 'quoted' and\ufffd \ufffdturned\ufffd",
    );
    expect(codeIn(line(notice({ reason: '👨‍👩‍👧 نمی‌خواهم' }))!).code[0]).toBe('👨‍👩‍👧 نمی‌خواهم');
  });
});
