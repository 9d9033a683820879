import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { STATUSES } from '../../../domain/request/types.js';
import { type CardAround, type CardRequest, requestCard } from '../../../domain/slack/card.js';
import { expectFitsSlack, markupOf } from '../../support/slack.js';
import { steps, workflowSnapshot } from '../../support/stored-request.js';

const id = '8c1f0a34-1111-4222-8333-944445555666';
const request = (over: Partial<CardRequest> = {}): CardRequest => ({
  id,
  requester: 'mira',
  database: 'ledger',
  environment: 'production',
  operation: 'execute_dml',
  emergency: false,
  reason: 'fix the sums',
  risk: 'high',
  metadata: '{}',
  hasResult: true,
  status: 'pending',
  decisions: [],
  currentStep: 0,
  passedBy: null,
  policy: workflowSnapshot({ steps: steps('group:dbas') }),
  ...over,
});
const people = (ids: Record<string, string> = {}, next: string[] = []): CardAround => ({
  slackIds: new Map(Object.entries(ids)),
  next,
  publicUrl: null,
});
const markup = (text: string) => ({ type: 'mrkdwn', text, verbatim: true });
const plain = (text: string) => ({ type: 'plain_text', text, emoji: true });

describe('a card', () => {
  it('shows the request, its button and who comes next (SL-51)', () => {
    expect(requestCard(request(), people({ mira: 'U1', otto: 'U2' }, ['otto', 'erin']))).toEqual({
      text: '📋 Waiting for Approval — ledger/production — 8c1f0a34-111',
      blocks: [
        { type: 'header', text: plain('📋 Waiting for Approval') },
        {
          type: 'section',
          fields: [
            markup('*Requester:*\n<@U1>'),
            markup('*Database:*\nledger / production'),
            markup('*Operation:*\nexecute_dml'),
            markup('*Approvers:*\n—'),
            markup('*Request ID:*\n8c1f0a34-111'),
            markup('*Reason:*\n`fix the sums`'),
            markup('*Risk:*\nhigh'),
            markup('*Approval:*\nStep 1/1'),
          ],
        },
        { type: 'context', elements: [markup('Next: `group:dbas` • <@U2>, erin')] },
        {
          type: 'actions',
          elements: [{ type: 'button', action_id: 'svc_review', text: plain('Review'), value: id, style: 'primary' }],
        },
      ],
    });
  });

  it('links to the page of the request where the gateway has a public URL (SL-51)', () => {
    const texts = markupOf(requestCard(request(), { ...people(), publicUrl: 'https://gateway.example.com/' }));
    expect(texts).toContain(`*Request ID:*\n<https://gateway.example.com/console/requests/${id}|8c1f0a34-111>`);
  });

  it('names the MCP client that asked, as data whatever it calls itself (SL-51, MC-44)', () => {
    const clientOf = (client: unknown) =>
      markupOf(requestCard(request({ metadata: JSON.stringify({ source: 'mcp', client }) }), people())).find((text) =>
        text.startsWith('*MCP client:*'),
      );
    expect(clientOf('claude-code 2.0')).toBe('*MCP client:*\n`claude-code 2.0`');
    const longest = `${'n'.repeat(80)} ${'1'.repeat(80)}`;
    expect(clientOf(longest)).toBe(`*MCP client:*\n\`${longest}\``);
    expect(clientOf(undefined)).toBe('*MCP client:*\n`unnamed`');
    expect(clientOf('` <!channel>\n*Risk:*\nlow <@U1> \u202e')).toBe(
      "*MCP client:*\n`' &lt;!channel&gt; *Risk:* low &lt;@U1&gt; \ufffd`",
    );
    const [silent] = markupOf(requestCard(request({ metadata: '{"client":"x"}' }), people())).filter((text) =>
      text.includes('MCP'),
    );
    expect(silent).toBeUndefined();
  });

  it('has the button that its status allows (SL-52)', () => {
    const actions = (over: Partial<CardRequest>) =>
      requestCard(request(over), people()).blocks.flatMap((block) =>
        block.type === 'actions' ? block.elements.map(({ action_id, value }) => [action_id, value]) : [],
      );
    const shown = STATUSES.map((status) => [status, actions({ status })[0]?.[0]]);
    expect(shown.filter(([, action]) => action !== undefined)).toEqual([
      ['pending', 'svc_review'],
      ['approved', 'svc_resume'],
      ['executed', 'svc_view_result'],
      ['failed', 'svc_view_result'],
    ]);
    expect(actions({ status: 'executed', hasResult: false })).toEqual([]);
    expect(actions({ status: 'failed', hasResult: false })).toEqual([['svc_view_result', id]]);
  });

  it('names no next approvers once nobody is asked, and no step where there is none (SL-51)', () => {
    const texts = markupOf(requestCard(request({ status: 'executed', policy: null }), people({}, ['otto'])));
    expect(texts.filter((text) => /Next|Step|otto/.test(text))).toEqual([]);
  });

  it('tells of no step what passed without approvals (SL-51)', () => {
    const approvalOf = (over: Partial<CardRequest>) =>
      markupOf(requestCard(request({ status: 'dispatched', ...over }), people())).filter((text) => /Approval|Step/.test(text));
    expect(approvalOf({ passedBy: 'policy' })).toEqual(['*Approval:*\nnot needed']);
    expect(approvalOf({ passedBy: 'break_glass' })).toEqual(['*Approval:*\nskipped']);
    expect(approvalOf({ passedBy: 'break_glass', policy: null })).toEqual(['*Approval:*\nskipped']);
    expect(approvalOf({ currentStep: 1 })).toEqual(['*Approval:*\nStep 1/1']);
  });

  it('takes only what is a Slack id for one, and escapes all else (SL-55)', () => {
    const hostile = request({ requester: '<!channel>', reason: '<!here> *bold* `x` &\n<@U9>' });
    const texts = markupOf(requestCard(hostile, people({ '<!channel>': 'U1> <!everyone' })));
    expect(texts[0]).toBe('*Requester:*\n&lt;!channel&gt;');
    expect(texts[5]).toBe("*Reason:*\n`&lt;!here&gt; *bold* 'x' &amp; &lt;@U9&gt;`");
    expect(texts.join('').match(/<[^>]*>/g)).toBeNull();
  });

  it('never has a part of the SQL (SL-55, SL-I5)', () => {
    const message = requestCard({ ...request(), detail: "select 'marker-detail'" } as CardRequest, people());
    expect(JSON.stringify(message)).not.toContain('marker-detail');
  });

  it('keeps to the limits of Slack, whatever texts are (SL-51)', () => {
    const text = fc.string({ unit: fc.constantFrom('<', '&', 'é', '😀', '`', '\n', 'a'), maxLength: 400 });
    const names = fc.array(text, { maxLength: 40 });
    fc.assert(
      fc.property(text, text, text, names, fc.constantFrom(...STATUSES), (requester, database, reason, users, status) => {
        const metadata = JSON.stringify({ source: 'mcp', client: reason });
        const policy = { steps: [{ mode: 'all', approvers: users.map((selector) => ({ selector, min: 1 })) }] };
        const decisions = users.map((userId) => ({ action: 'approve', userId, step: 0, selector: 'x' }));
        const over = { requester, database, reason, status, policy, decisions, metadata } as unknown as Partial<CardRequest>;
        expectFitsSlack(requestCard(request(over), people({}, users)));
      }),
    );
  });
});
