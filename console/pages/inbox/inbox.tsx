import { useRef, useState } from 'preact/hooks';
import { useRowKeys } from '../../frame/row-keys.js';
import type { Schema } from '../../http/client.js';
import { Page, Show } from '../../parts/page.js';
import { RequestRow } from '../../parts/request-row.js';
import { Empty, Section } from '../../parts/section.js';
import { useLoaded } from '../../state/loaded.js';
import { may, me } from '../../state/session.js';
import { type Inbox as Found, loadInbox, pageSize } from './load.js';

/** What waits for the caller, and what of theirs is open. It is also the first page of those who look after other things. */
export function Inbox() {
  if (may('request.view')) return <Requests />;
  return (
    <Page title="Inbox">
      <Empty>Your roles show you no requests. What they are for is in the menu.</Empty>
    </Page>
  );
}

function Requests() {
  const list = useRef<HTMLDivElement>(null);
  const [wanted, setWanted] = useState(pageSize);
  // The key stays, so that the list stays in sight while more of it comes.
  const inbox = useLoaded(
    `inbox ${me()}`,
    (signal) => loadInbox(me(), wanted, signal),
    () => true,
  );
  const showMore = () => {
    setWanted(wanted + pageSize);
    inbox.reload();
  };
  useRowKeys(list);
  return (
    <Page title="Inbox">
      <div ref={list}>
        <Show of={inbox}>{(found) => <Lists found={found} onMore={showMore} />}</Show>
      </div>
    </Page>
  );
}

function Lists({ found: { approvals, total, own, ended }, onMore }: { found: Found; onMore: () => void }) {
  const isCut = total > approvals.length;
  return (
    <>
      <Section title="Waiting for your decision" note={isCut ? `the oldest ${approvals.length} of ${total}` : String(total)}>
        {approvals.length === 0 ? (
          <Empty>Nothing waits for you. Requests that you may approve come here by themselves, the oldest first.</Empty>
        ) : (
          <Rows of={approvals} isToDecide />
        )}
        {isCut && (
          <p class="more">
            <button type="button" onClick={onMore}>
              Show {Math.min(pageSize, total - approvals.length)} more
            </button>
          </p>
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
