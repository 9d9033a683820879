import { useState } from 'preact/hooks';
import { withCommas } from '../../../../lib/counts.js';
import { databaseError } from '../../../../lib/database-error.js';
import { bytesText, counted } from '../../../format/counts.js';
import type { Schema } from '../../../http/client.js';
import { Show } from '../../../parts/page.js';
import { Problem } from '../../../parts/problem.js';
import { Section } from '../../../parts/section.js';
import { Text } from '../../../parts/text.js';
import { useLoaded } from '../../../state/loaded.js';
import { may } from '../../../state/session.js';
import { Grid } from './grid.js';
import { loadResult, type StoredResult } from './load.js';
import { Migrated } from './migrated.js';

type Execution = Schema['Execution'];

/** The newest attempt may have been lost when an older one has executed the request. */
const answering = ({ status }: Schema['Request'], readable: readonly Execution[]): Execution | undefined =>
  (status === 'executed' ? readable.find((one) => one.status === 'completed') : undefined) ?? readable[0];

/** The result that is kept of what executed the request, else the newest, or the one that is chosen. */
export function Result({ request, executions }: { request: Schema['Request']; executions: readonly Execution[] }) {
  const readable = executions.filter(({ has_stored_result }) => has_stored_result);
  const [chosen, setChosen] = useState<string | null>(null);
  const execution = readable.find(({ id }) => id === chosen) ?? answering(request, readable);
  if (!may('result.view') || execution === undefined) return null;
  const note =
    readable.length === 1 ? undefined : (
      <label>
        attempt{' '}
        <select value={execution.id} onChange={(event) => setChosen(event.currentTarget.value)}>
          {readable.map(({ id, fence }) => (
            <option key={id} value={id}>
              {fence}
            </option>
          ))}
        </select>
      </label>
    );
  return (
    <Section title="Result" note={note}>
      <Content key={execution.id} request={request} execution={execution} />
    </Section>
  );
}

function Content({ request: { id, detail }, execution }: { request: Schema['Request']; execution: Execution }) {
  const result = useLoaded(`${id} ${execution.id}`, (signal) => loadResult(id, execution.id, signal));
  const name = `result-${id.slice(0, 8)}-${execution.fence}`;
  return <Show of={result}>{(found) => <Found result={found} sql={detail} name={name} />}</Show>;
}

function Found({ result, sql, name }: { result: StoredResult; sql: string; name: string }) {
  const { view, errorMessage, other } = result;
  if (errorMessage !== null) return <Failed text={errorMessage} sql={sql} />;
  if (view.rows === null)
    return (
      <>
        {view.rowsAffected !== null && <p>{counted(Number(view.rowsAffected), 'row')} changed.</p>}
        {other !== null && <Migrated data={view.data!} fallback={other} />}
        {view.rowsAffected === null && other === null && <p>It ran, and returned nothing.</p>}
      </>
    );
  return (
    <>
      <p class="quiet">
        {counted(view.rows.length, 'row')}, {counted(view.columns.length, 'column')}, {bytesText(result.bytes)}
        {view.rowsAffected !== null && `, ${withCommas(Number(view.rowsAffected))} changed`}
      </p>
      {view.truncated && (
        <p class="note">
          There is more than this: <Text of={view.truncationReason ?? 'the result was cut'} />.
        </p>
      )}
      <Grid columns={view.columns} types={result.types} rows={view.rows} name={name} />
    </>
  );
}

/** In the words of `svc`. */
function Failed({ text, sql }: { text: string; sql: string }) {
  const { message, hint } = databaseError(text, sql);
  return (
    <>
      <Problem error={new Error(message)} />
      {hint !== null && (
        <p class="note">
          <Text of={hint} />
        </p>
      )}
    </>
  );
}
