import { useRef } from 'preact/hooks';
import { useRowKeys } from '../../frame/row-keys.js';
import type { Schema } from '../../http/client.js';
import { Page, Show } from '../../parts/page.js';
import { RequestRow } from '../../parts/request-row.js';
import { Empty, Section } from '../../parts/section.js';
import { useLoaded } from '../../state/loaded.js';
import { me } from '../../state/session.js';
import { type Inbox as Found, loadInbox } from './load.js';

/** What waits for the caller, and what of theirs is open. */
export function Inbox() {
  const list = useRef<HTMLDivElement>(null);
  const inbox = useLoaded(
    `inbox ${me()}`,
    (signal) => loadInbox(me(), signal),
    () => true,
  );
  useRowKeys(list);
  return (
    <Page title="Inbox">
      <div ref={list}>
        <Show of={inbox}>{(found) => <Lists found={found} />}</Show>
      </div>
    </Page>
  );
}

function Lists({ found: { approvals, total, own, ended } }: { found: Found }) {
  const more = total > approvals.length ? `the oldest of ${total} are on the last pages of all requests` : undefined;
  return (
    <>
      <Section title="Waiting for your decision" note={more ?? String(total)}>
        {approvals.length === 0 ? (
          <Empty>Nothing waits for you. Requests that you may approve come here by themselves, the oldest first.</Empty>
        ) : (
          <Rows of={approvals} isToDecide />
        )}
      </Section>
      <Section title="Your open requests" note={String(own.length)}>
        {own.length === 0 ? (
          <Empty>None is open. What you ask for stays here until it has ended.</Empty>
        ) : (
          <Rows of={own} isMine />
        )}
      </Section>
      {ended.length > 0 && (
        <Section title="Ended lately">
          <Rows of={ended} isMine />
        </Section>
      )}
    </>
  );
}

interface RowsProps {
  of: readonly Schema['RequestItem'][];
  isMine?: boolean;
  isToDecide?: boolean;
}

/** From here on, rows out of sight are not laid out. */
const longFrom = 60;

function Rows({ of, ...shown }: RowsProps) {
  return (
    <ul class={of.length > longFrom ? 'rows long' : 'rows'}>
      {of.map((request) => (
        <RequestRow key={request.id} request={request} {...shown} />
      ))}
    </ul>
  );
}
