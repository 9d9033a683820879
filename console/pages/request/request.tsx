import { useCallback } from 'preact/hooks';
import { changeText } from '../../format/change.js';
import { deadlineOf, turnOf } from '../../format/status.js';
import { answer, api, type Schema } from '../../http/client.js';
import { Badge, Status } from '../../parts/badge.js';
import { Page, Show } from '../../parts/page.js';
import { Text } from '../../parts/text.js';
import { When } from '../../parts/when.js';
import { useLoaded } from '../../state/loaded.js';
import { me } from '../../state/session.js';
import { Attempts } from './attempts.js';
import { Content } from './content.js';
import { Decide } from './decide.js';
import { Details } from './details.js';
import { Findings } from './findings.js';
import { Glance } from './glance.js';
import { Plan } from './plan.js';
import { Result } from './result/result.js';
import type { Shown } from './shown.js';
import { Steps } from './steps.js';
import { Tables } from './tables.js';
import { Timeline } from './timeline.js';

/** Everything of one request, and what the caller can do about it now. */
export function RequestPage({ params }: { params: { id: string } }) {
  const { id } = params;
  const path = { params: { path: { id } } };
  const load = useCallback(
    async (signal: AbortSignal): Promise<Shown> => {
      const [request, { executions }] = await Promise.all([
        answer(api.GET('/api/requests/{id}', { ...path, signal })),
        answer(api.GET('/api/requests/{id}/executions', { ...path, signal })),
      ]);
      return { request, executions };
    },
    [id],
  );
  const shown = useLoaded(id, load, (change) => change === null || change.id === id);
  const request = shown.value?.request;
  const title = request === undefined ? 'Request' : titleOf(request);
  return (
    <Page title={title} lead={request && <Lead request={request} />}>
      <Show of={shown}>{(found) => <Whole {...found} reload={shown.reload} />}</Show>
    </Page>
  );
}

const titleOf = (request: Schema['Request']) =>
  `${changeText(request).replace(/^./, (first) => first.toUpperCase())} on ${request.database}/${request.environment}`;

function Lead({ request }: { request: Schema['Request'] }) {
  const turn = turnOf(request, me());
  const deadline = deadlineOf(request);
  return (
    <span class="turn">
      <Status of={request.status} />
      {request.emergency && <Badge tone="bad">emergency</Badge>}
      {turn !== '' && <Text of={turn} />}
      {deadline !== null && (
        <span class="quiet">
          {deadline.label} <When at={deadline.at} />
        </span>
      )}
      {request.related.includes('can_decide') && (
        <a class="to-decision" href="#decide">
          to your decision
        </a>
      )}
    </span>
  );
}

function Whole({ request, executions, reload }: Shown & { reload: () => void }) {
  return (
    <div class="two">
      <div class="main">
        <Glance request={request} />
        <Content request={request} />
        <Result request={request} executions={executions} />
        <Findings request={request} />
        <Tables context={request.context} />
        <Plan request={request} />
        <Attempts executions={executions} />
      </div>
      <div class="rail" id="decide">
        <Decide request={request} reload={reload} />
        <Steps request={request} />
        <Timeline request={request} executions={executions} />
        <Details request={request} />
      </div>
    </div>
  );
}
