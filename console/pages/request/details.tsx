import { traceSentences } from '../../format/trace.js';
import { answer, api, type Schema } from '../../http/client.js';
import { Copy } from '../../parts/copy.js';
import { Facts, Section } from '../../parts/section.js';
import { Name, Text } from '../../parts/text.js';
import { When } from '../../parts/when.js';
import { useLoaded } from '../../state/loaded.js';
import { may } from '../../state/session.js';

/** Why it was decided so, and the rest that few need. */
export function Details({ request }: { request: Schema['Request'] }) {
  const { id, approval_digest, share_with, search_path, idempotency_key, metadata } = request;
  const plainPath = search_path === null || search_path.join() === 'public';
  return (
    <>
      <Section title="Why this way">
        {traceSentences(request.decision_trace).map((sentence) => (
          <p key={sentence}>
            <Text of={sentence} />
          </p>
        ))}
      </Section>
      <Section title="Details">
        <Facts
          of={[
            ['Request', <Copied key="id" text={id} what="the id" />],
            ['Digest', <Copied key="digest" text={approval_digest} what="the digest" />],
            ['Changed', <When key="changed" at={request.updated_at} />],
            ['Shared with', share_with.length > 0 && <Text of={share_with.join(', ')} />],
            ['Search path', !plainPath && <Text of={search_path?.join(', ')} />],
            ['Result', request.no_result_store && 'is not stored, only handed on'],
            ['Key', idempotency_key !== null && <Name of={idempotency_key} />],
            ['Metadata', JSON.stringify(metadata) !== '{}' && <Name of={JSON.stringify(metadata)} />],
          ]}
        />
        {may('metrics.view') && <Workflow id={id} />}
      </Section>
    </>
  );
}

function Copied({ text, what }: { text: string; what: string }) {
  return (
    <span class="copied">
      <Name of={text} /> <Copy text={text} what={what} />
    </span>
  );
}

/** Its workflow beside what is stored (OP-74). */
function Workflow({ id }: { id: string }) {
  const workflow = useLoaded(
    `workflow ${id}`,
    (signal) => answer(api.GET('/api/requests/{id}/workflow', { params: { path: { id } }, signal })),
    (change) => change?.id === id,
  ).value;
  if (workflow === undefined) return null;
  const { in_step, live, live_error, stored, ui_url, workflow_id } = workflow;
  const knows = live === null ? (live_error ?? 'nothing').replaceAll('_', ' ') : `${live.status}, version ${live.version}`;
  return (
    <p>
      Workflow {ui_url === null ? <Name of={workflow_id} /> : <a href={safeUrl(ui_url)}>{workflow_id}</a>}:{' '}
      {in_step ? (
        'in step with what is stored'
      ) : (
        <>
          <Text of={knows} />, while version {stored.version} is stored
        </>
      )}
    </p>
  );
}

/** Only an address of the web is followed. */
const safeUrl = (url: string) => (/^https?:\/\//i.test(url) ? url : '#');
