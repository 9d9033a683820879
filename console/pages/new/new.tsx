import { useLayoutEffect, useMemo, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso/router';
import { hiddenIn } from '../../format/hidden.js';
import { answer, api, type Schema } from '../../http/client.js';
import { Page, Show } from '../../parts/page.js';
import { useLoaded } from '../../state/loaded.js';
import { type Draft, draftOf, keepDraft } from './draft.js';
import type { Mark } from './editor.js';
import { PreflightCard } from './preflight-card.js';
import { SqlField } from './sql-field.js';
import { SubmitForm } from './submit-form.js';
import { useNames } from './use-names.js';
import { usePreflight } from './use-preflight.js';

/** Writes a request, with what it would come to beside it. */
export function NewRequest() {
  // A link may name none.
  const from = useLocation().query.from || undefined;
  const databases = useLoaded('databases', (signal) => answer(api.GET('/api/databases', { signal })));
  const first = useLoaded(`draft ${from ?? ''}`, () => draftOf(from));
  return (
    <Page title="New request">
      <Show of={databases}>
        {({ databases: pairs }) => <Show of={first}>{(draft) => <Writer pairs={pairs} first={draft} />}</Show>}
      </Show>
    </Page>
  );
}

type Pair = Schema['Database'];

function Writer({ pairs, first }: { pairs: readonly Pair[]; first: Draft }) {
  const [draft, setDraft] = useState(() => withPair(first, pairs));
  // At once: a reload may come before the browser has painted.
  useLayoutEffect(() => keepDraft(draft), [draft]);
  const set = (change: Partial<Draft>) => setDraft((before) => ({ ...before, ...change }));
  const { database, environment, sql } = draft;
  const pair = pairs.find((one) => one.database === database && one.environment === environment);
  const preflight = usePreflight(database, environment, sql);
  const names = useNames(database, environment);
  const hidden = useMemo(() => hiddenIn(sql), [sql]);
  const marks = useMemo(() => marksOf(preflight.found), [preflight.found]);
  return (
    <div class="writer">
      <div class="write">
        <PairChoice pairs={pairs} draft={draft} onChoose={set} />
        <SqlField
          text={sql}
          onChange={(text) => set({ sql: text })}
          dialect={pair?.dialect ?? null}
          schema={names}
          marks={marks}
          label="SQL"
        />
        {hidden !== null && (
          <p class="note" role="status">
            The text has characters that are not seen here, such as <code>{hidden}</code>. Approvers see them.
          </p>
        )}
      </div>
      <div class="rail">
        <PreflightCard {...preflight} sql={sql} />
      </div>
      <div class="send">
        <SubmitForm draft={draft} set={set} preflight={preflight.found} />
      </div>
    </div>
  );
}

/** The pair of the draft if it is registered; else the only one there is. */
function withPair(draft: Draft, pairs: readonly Pair[]): Draft {
  if (pairs.some(({ database, environment }) => database === draft.database && environment === draft.environment)) return draft;
  const [only, another] = pairs;
  const pair = only !== undefined && another === undefined ? only : { database: '', environment: '' };
  return { ...draft, database: pair.database, environment: pair.environment };
}

const marksOf = (found: Schema['Preflight'] | null): Mark[] =>
  (found?.review.findings ?? []).flatMap(({ line, action, message }) =>
    line === undefined ? [] : [{ line, severity: action === 'block' ? ('error' as const) : ('warning' as const), message }],
  );

function PairChoice({
  pairs,
  draft,
  onChoose,
}: {
  pairs: readonly Pair[];
  draft: Draft;
  onChoose: (change: Partial<Draft>) => void;
}) {
  const chosen = JSON.stringify([draft.database, draft.environment]);
  return (
    <fieldset class="pairs">
      <legend>Database and environment</legend>
      {pairs.length === 0 && <p class="quiet">No database is registered that you may use.</p>}
      {pairs.map(({ database, environment }) => {
        const value = JSON.stringify([database, environment]);
        return (
          <label key={value} class="choice">
            <input type="radio" name="pair" checked={value === chosen} onChange={() => onChoose({ database, environment })} />
            <span>
              {database}/{environment}
            </span>
          </label>
        );
      })}
    </fieldset>
  );
}
