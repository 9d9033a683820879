import { isBlank } from '../../lib/visible.js';
import { few, nextPart } from '../notifications/slack-message.js';
import { openSelectors } from '../request/approval.js';
import { requestUrl } from '../request/link.js';
import { mcpClientOf } from '../request/mcp-client.js';
import type { Status, StoredRequest } from '../request/types.js';
import { type Button, markup, plain, type SlackMessage } from './blocks.js';
import { mention, mentions, type SlackIds } from './mentions.js';
import { codeSpan, linkTo, plainLine } from './text.js';

/** A request as its card shows it, from the stored state (SL-52). */
export type CardRequest = Pick<
  StoredRequest,
  | 'id'
  | 'status'
  | 'requester'
  | 'database'
  | 'environment'
  | 'operation'
  | 'emergency'
  | 'policy'
  | 'decisions'
  | 'currentStep'
  | 'passedBy'
> & {
  reason: string | null;
  risk: string;
  /** JSON text. */
  metadata: string;
  hasResult: boolean;
};

/** Those whom the card names, and where it leads. */
export interface CardAround {
  publicUrl: string | null;
  slackIds: SlackIds;
  /** Users who may approve next, without the requester. */
  next: readonly string[];
}

const titles: Record<Status, string> = {
  pending: '📋 Waiting for Approval',
  approved: '✅ Approved',
  dispatched: '🚀 Dispatched',
  running: '🏃 Running',
  executed: '🎉 Completed',
  failed: '⚠️ Failed',
  rejected: '❌ Rejected',
  cancelled: '🚫 Cancelled',
  expired: '⏰ Expired',
  execution_lost: '💀 Execution Lost',
};

/** Long enough to be found by, and read out. */
const idLimit = 12;
const reasonLimit = 100;
const nameLimit = 128;
const approverLimit = 64;
/** A client's name and version, which it gives itself, with the space between them (MC-44). */
const clientLimit = 80 + 1 + 80;
const maxApprovers = 5;
const missing = '—';

/** The message that shows a request (SL-51). No SQL, no result (SL-55). */
export function requestCard(request: CardRequest, { slackIds, next, publicUrl }: CardAround): SlackMessage {
  const title = `${titles[request.status]}${request.emergency ? ' (Break-Glass)' : ''}`;
  const open = openSelectors(request);
  const buttons = buttonsOf(request);
  const blocks: SlackMessage['blocks'] = [
    { type: 'header', text: plain(title) },
    { type: 'section', fields: fieldsOf(request, slackIds, requestUrl(publicUrl, request.id)).map(markup) },
  ];
  if (open.length > 0) {
    const asked = next.length === 0 ? '' : ` • ${mentions(next, slackIds)}`;
    blocks.push({ type: 'context', elements: [markup(`${nextPart(open)}${asked}`)] });
  }
  if (buttons.length > 0) blocks.push({ type: 'actions', elements: buttons });
  return { text: `${title} — ${pairOf(request, '/')} — ${shortId(request)}`, blocks };
}

function fieldsOf(request: CardRequest, slackIds: SlackIds, url: string | null): string[] {
  const { requester, operation, reason, risk, decisions } = request;
  const client = mcpClientOf(request.metadata);
  const approvers = [...new Set(decisions.filter(({ action }) => action === 'approve').map(({ userId }) => userId))];
  const approval = approvalOf(request);
  const approved = few(
    approvers.map((user) => plainLine(user, approverLimit)),
    maxApprovers,
  );
  const fields = [
    `*Requester:*\n${mention(requester, slackIds)}`,
    `*Database:*\n${pairOf(request, ' / ')}`,
    `*Operation:*\n${operation}`,
    `*Approvers:*\n${approved || missing}`,
    `*Request ID:*\n${linkTo(url, shortId(request))}`,
    `*Reason:*\n${reason === null || isBlank(reason) ? missing : codeSpan(reason, reasonLimit)}`,
    `*Risk:*\n${risk}`,
  ];
  if (approval !== null) fields.push(`*Approval:*\n${approval}`);
  if (client !== null) fields.push(`*MCP client:*\n${codeSpan(client, clientLimit)}`);
  return fields;
}

const withoutApproval = { policy: 'not needed', break_glass: 'skipped' } as const;

/** The steps of a workflow say nothing of what passed without them. */
function approvalOf({ passedBy, policy, currentStep }: CardRequest): string | null {
  if (passedBy !== null) return withoutApproval[passedBy];
  const total = policy?.steps.length ?? 0;
  return total === 0 ? null : `Step ${Math.min(currentStep + 1, total)}/${total}`;
}

const pairOf = ({ database, environment }: CardRequest, between: string) =>
  `${plainLine(database, nameLimit)}${between}${plainLine(environment, nameLimit)}`;

const shortId = ({ id }: CardRequest) => id.slice(0, idLimit);

/** SL-52. What they do is checked when they are used: a card may be read long after it was built. */
function buttonsOf({ id, status, hasResult }: CardRequest): Button[] {
  const button = (action: string, text: string): Button => ({ type: 'button', action_id: action, text: plain(text), value: id });
  if (status === 'pending') return [{ ...button('svc_review', 'Review'), style: 'primary' }];
  if (status === 'approved') return [{ ...button('svc_resume', 'Resume'), style: 'primary' }];
  if (status === 'failed' || (status === 'executed' && hasResult)) return [button('svc_view_result', 'View result')];
  return [];
}
