import { visible } from '../../lib/visible.js';
import { changeText } from '../format/change.js';
import { subjectOf } from '../format/request-text.js';
import type { Schema } from '../http/client.js';
import { Badge, Pair, Risk, Status } from './badge.js';
import { Text } from './text.js';
import { When } from './when.js';

type Item = Schema['RequestItem'];

interface RowProps {
  request: Item;
  /** Whether all of the list are the reader's. */
  isMine?: boolean;
  /** Whether all of the list wait for the reader. */
  isToDecide?: boolean;
}

/** A request in a list. The whole row leads to it; only its first link is a stop of the keyboard. */
export function RequestRow({ request, isMine = false, isToDecide = false }: RowProps) {
  const { id, operation, detail, status, reason, requester, emergency } = request;
  const waits = request.next_approvers ?? [];
  return (
    <li class="row">
      <a class="row-link" href={`/console/requests/${id}`} data-row>
        <span class="subject">
          <bdi>{visible(subjectOf(operation, detail)) || 'an empty text'}</bdi>
        </span>
      </a>
      <div class="row-facts">
        {!isToDecide && <Status of={status} />}
        {emergency && <Badge tone="bad">emergency</Badge>}
        <Risk level={request.risk_level} />
        <span class="badge plain">{changeText(request)}</span>
        <Pair database={request.database} environment={request.environment} />
        {!isMine && (
          <span>
            by <Text of={requester} />
          </span>
        )}
        {reason !== null && (
          <span class="reason">
            <span class="hidden">reason: </span>“<Text of={reason} />”
          </span>
        )}
        {isMine && waits.length > 0 && (
          <span class="quiet">
            waits for <Text of={waits.join(', ')} />
          </span>
        )}
      </div>
      <Times of={request} />
    </li>
  );
}

function Times({ of: { created_at, status, expires_at } }: { of: Item }) {
  return (
    <div class="row-times">
      <When at={created_at} />
      {status === 'pending' && expires_at !== null && (
        <span class="quiet">
          expires <When at={expires_at} />
        </span>
      )}
    </div>
  );
}
